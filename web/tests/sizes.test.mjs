// The sizes in docs/browser.md are those of what was built.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { here } from '../jspi.mjs';
import { marked, measure } from '../sizes.mjs';
import { dist } from './chromium.mjs';

/** A change of the engine moves its size a little. */
const TOLERANCE = 0.05;

test('docs/browser.md has the sizes; `cargo xtask web --sizes` writes them', () => {
  const { between } = marked(readFileSync(join(here, '../docs/browser.md'), 'utf8'));
  for (const { name, size, gzip } of measure(dist)) {
    const row = between.split('\n').find((line) => line.startsWith(`| ${name} |`));
    assert.ok(row, `the table has no ${name}`);
    const [, , inDocs, zipped] = row.split('|').map(Number);
    for (const [was, is] of [[inDocs, size], [zipped, gzip]]) {
      assert.ok(Math.abs(was * 1000 - is) <= is * TOLERANCE + 1000, `${name}: ${is} bytes, and ${was} KB in the document`);
    }
  }
});

// The example, as it is installed from the package that npm has packed; and the package's types.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { here } from '../jspi.mjs';
import { serve } from '../serve.mjs';
import { Chromium, dist } from './chromium.mjs';

let project;
let chromium;
before(async () => {
  project = mkdtempSync(join(tmpdir(), 'orbweaver-example-'));
  cpSync(join(here, '../examples/browser'), project, { recursive: true, filter: (path) => !path.includes('node_modules') });
  const packed = readdirSync(dist).find((name) => name.endsWith('.tgz'));
  const install = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--silent', '--offline'];
  execFileSync('npm', [...install, join(dist, packed)], { cwd: project, stdio: 'inherit' });
  chromium = await Chromium.start();
});
after(async () => {
  await chromium.close();
  rmSync(project, { recursive: true, force: true });
});

test('the example keeps its leaderboard from visit to visit', async () => {
  const server = await serve({ '/': project });
  const visit = async () => {
    const page = await chromium.browser.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    const lines = page.locator('li');
    await lines.first().waitFor();
    const seen = [await page.title(), ...await lines.allTextContents()];
    await page.close();
    return seen;
  };
  assert.deepEqual(await visit(), ['Visit 1', 'ada: 120.5', 'bob: 109']);
  assert.deepEqual(await visit(), ['Visit 2', 'ada: 120.5', 'bob: 119']);
  server.close();
  server.closeAllConnections();
});

test('the types describe the package', () => {
  writeFileSync(join(project, 'uses.ts'), `
    import { open, ReplyError, type Orbweaver, type Reply } from 'orbweaver';
    import { Decoder, encode } from 'orbweaver/resp.js';

    const db: Orbweaver = await open({ name: 'n', durability: 'strict' });
    const reply: Reply = await db.command('SET', new Uint8Array(1), 2n, { binary: true });
    const members: bigint = (await db.sortedSets.add(0, new Uint8Array(1), [[1, new Uint8Array(1)]], { which: 'any', comparison: 'any' })).added;
    for await (const { keyspace, key } of db.records()) console.log(keyspace, key.length, reply, members);
    if (reply instanceof ReplyError) console.log(reply.code);
    const decoder = new Decoder();
    decoder.push(encode([['PING']]));
    // @ts-expect-error: there is no such durability.
    await open({ name: 'n', durability: 'always' });
    // @ts-expect-error: an argument must be given.
    await db.command('SET', undefined);
  `);
  const options = ['--strict', '--noEmit', '--target', 'es2022', '--module', 'nodenext', '--lib', 'es2022,dom,esnext.disposable', 'uses.ts'];
  execFileSync(process.execPath, [join(here, 'node_modules/typescript/bin/tsc'), ...options], { cwd: project, stdio: 'inherit' });
});

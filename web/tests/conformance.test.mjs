// The store on IndexedDB under the test-suite of the contract.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Chromium } from './chromium.mjs';

let chromium;
before(async () => { chromium = await Chromium.start(); });
after(() => chromium.close());

/** Runs the suite in a tab of its own, and checks that it has passed at least so many obligations. */
async function run(request, atLeast) {
  const page = await chromium.page();
  const { passed, output } = await page.evaluate((request) => ask('conform.js', request), request);
  const lines = output.split('\n');
  assert.ok(passed && !output.includes('FAIL'), output);
  assert.ok(lines.filter((line) => line.startsWith('ok ')).length >= atLeast, output);
  await page.close();
}

test('the store keeps the contract', () => run({ database: 'conform', words: [] }, 24));

test('the store keeps the contract where the browser has no getAllRecords', () => {
  return run({ database: 'conform-cursors', words: [], withoutRecords: true }, 24);
});

test('what is committed outlives the browser', async () => {
  await run({ database: 'conform', words: ['leave'] }, 1);
  await chromium.browser.close();
  await chromium.launch();
  await run({ database: 'conform', words: ['find'] }, 1);
});

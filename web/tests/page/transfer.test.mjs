// Import and export, and the page under load.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { Pages, eventually } from './page.mjs';

let pages;
before(async () => { pages = await Pages.start(); });
after(() => pages.close());

const LINES = `${[
  '{"db":0,"key":"YQ==","type":"string","expire_at_ms":null,"value":"dg=="}',
  '{"db":0,"key":"eg==","type":"zset","expire_at_ms":null,"members":[["YQ==","1.5","3ff8000000000000"]]}',
  '{"db":2,"key":"bA==","type":"list","expire_at_ms":4102444800000,"items":["YQ==","Yg=="]}',
].join('\n')}\n`;

/** Gives the page a file to import. */
const give = (page, text, name = 'dump.jsonl') => page.tab.setInputFiles('#import-file', { name, mimeType: 'application/jsonl', buffer: Buffer.from(text) });

// A page that does not answer for longer than this is felt to be stuck. CI machines are slow, and share their cores.
const MOST_PAUSE_MS = 500;

test('what is imported is exported again, byte for byte', async () => {
  const page = await pages.open();
  await give(page, LINES);
  await page.waitForText('.task-text', '3 keys loaded.');
  await eventually(async () => assert.deepEqual(await page.texts('#key-list .name'), ['a', 'z']));
  const [download] = await Promise.all([page.tab.waitForEvent('download'), page.tab.click('#export')]);
  assert.equal(await readFile(await download.path(), 'utf8'), LINES);
  await page.close();
});

test('a line that is wrong is refused with its number, and those before it are there', async () => {
  const page = await pages.open();
  await give(page, `${LINES.split('\n')[0]}\nnonsense\n`);
  await page.waitForText('.task.has-failed .task-text', 'line 2');
  await eventually(async () => assert.deepEqual(await page.texts('#key-list .name'), ['a']));
  await page.close();
});

test('100,000 elements are loaded while the page answers', async (context) => {
  const page = await pages.open();
  await page.tab.click('#sample');
  await page.waitForText('.task-text', 'of 100,000 elements');
  // Meanwhile.
  assert.equal(await page.reply('SET meanwhile 1'), 'OK');
  await page.tab.fill('#key-search', 'mean*');
  await eventually(async () => assert.deepEqual(await page.texts('#key-list .name'), ['meanwhile']));
  await page.tab.waitForFunction(() => document.querySelector('.task')?.dataset.longestGap, undefined, { timeout: 120_000 });
  const longest = Number(await page.tab.locator('.task').getAttribute('data-longest-gap'));
  context.diagnostic(`longest pause of the page during the load: ${longest} ms`);
  console.log(`longest pause of the page while 100,000 elements were loaded: ${longest} ms`);
  assert.ok(longest < MOST_PAUSE_MS, `${longest} ms`);
  assert.equal(await page.reply('DBSIZE'), '(integer) 1001');
  assert.equal(await page.reply('ZCARD sample:zset:0997'), '(integer) 100');
  await page.close();
});

test('the list of a large db grows as it is scrolled', async () => {
  const page = await pages.open({ keep: true });
  await page.waitForText('#key-note', 'or more');
  const count = () => page.tab.locator('#key-list li').count();
  const before = await count();
  await page.tab.locator('#key-list li').last().scrollIntoViewIfNeeded();
  await eventually(async () => assert.ok(await count() > before));
  await page.close();
});

test('a load is cancelled, and what was loaded by then is whole', async () => {
  const page = await pages.open();
  await page.tab.click('#sample');
  await page.waitForText('.task-text', 'of 100,000 elements');
  await page.tab.click('.task button');
  await page.waitForText('.task-text', 'Cancelled.');
  const keys = Number((await page.reply('DBSIZE')).replace(/\D/g, ''));
  assert.ok(keys > 0 && keys < 1000, String(keys));
  assert.equal(await page.reply('HLEN sample:hash:0000'), '(integer) 100');
  assert.equal(await page.reply('DBSIZE'), `(integer) ${keys}`);
  await page.close();
});

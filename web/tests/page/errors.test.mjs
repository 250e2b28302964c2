// What the page says where something fails.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Pages, eventually } from './page.mjs';

let pages;
before(async () => { pages = await Pages.start(); });
after(() => pages.close());

// The first one, because Chromium keeps for a while what it knows of the quota.
test('where the browser gives no more room, command and load say so, and the page goes on', async () => {
  const quota = async (tab) => {
    const devtools = await pages.chromium.browser.newCDPSession(tab);
    await devtools.send('Storage.overrideQuotaForOrigin', { origin: pages.chromium.origin, quotaSize: 1 << 20 });
  };
  const page = await pages.open({ prepare: quota });
  await page.tab.click('#sample');
  await page.waitForText('.task.has-failed .task-text', 'storage quota');
  assert.match(await page.reply(`SET large ${'x'.repeat(900_000)}`), /storage quota/);
  assert.equal(await page.reply('EXISTS large'), '(integer) 0');
  assert.equal(await page.reply('HLEN sample:hash:0000'), '(integer) 100');
  await eventually(async () => assert.ok(await page.tab.locator('#key-list li').count() > 0));
  await page.close();
});

test('a browser without JSPI is told so in a sentence', async () => {
  const tab = await pages.chromium.browser.newPage();
  await tab.addInitScript(() => delete WebAssembly.Suspending);
  await tab.goto(pages.url);
  await tab.waitForSelector('.fatal');
  assert.match(await tab.locator('.fatal').innerText(), /too old for this page[^]*JavaScript Promise Integration/);
  await tab.close();
});

test('a connection that is closed is opened anew, in the same db', async () => {
  const page = await pages.open();
  await page.enter('SELECT 2', 'SET here 1', 'QUIT');
  await page.waitForText('#screen', 'the next command opens a new connection');
  assert.equal(await page.reply('GET here'), '"1"');
  await page.enter('SELECT 0');
  await page.close();
});

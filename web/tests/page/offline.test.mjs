// The page without a network, and what outlives it.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Pages, eventually } from './page.mjs';

let pages;
before(async () => { pages = await Pages.start(); });
after(() => pages.close());

test('data survive a reload', async () => {
  const page = await pages.open();
  await page.enter('SET kept "as it was"');
  await page.tab.reload();
  await page.ready();
  assert.equal(await page.reply('GET kept'), '"as it was"');
  await page.close();
});

test('the sweep removes what is dead while the page is idle', async () => {
  const page = await pages.open();
  await page.enter('SADD s a b c', 'DEL s', 'SET soon 1 PX 1');
  await page.waitForText('#swept', 'dead records');
  await eventually(async () => assert.match(await page.tab.locator('#swept').innerText(), /Swept 1 expired keys?, [1-9]/));
  await page.close();
});

test('storage, its quota and the owner of the database are shown', async () => {
  const page = await pages.open();
  await eventually(async () => assert.match(await page.tab.locator('#usage').innerText(), /^[\d.]+ [KM]?B of [\d.]+ [MGT]B/));
  await page.waitForText('#owner', 'This tab holds the database');
  const other = await pages.open({ keep: true });
  await other.waitForText('#owner', 'Another tab holds the database');
  assert.equal(await other.reply('SET from "the other tab"'), 'OK');
  assert.equal(await page.reply('GET from'), '"the other tab"');
  await page.close();
  await other.waitForText('#owner', 'This tab holds the database');
  assert.equal(await other.reply('GET from'), '"the other tab"');
  await other.close();
});

test('the page can be installed', async () => {
  const page = await pages.open();
  const manifest = await page.tab.evaluate(async () => (await fetch(document.querySelector('[rel=manifest]').href)).json());
  assert.equal(manifest.display, 'standalone');
  assert.ok(manifest.icons.length > 0);
  await page.close();
});

test('after the first visit the page works without a server', async () => {
  const page = await pages.open();
  await page.waitForText('#offline', 'Works offline');
  await page.enter('SET before offline');
  const { server } = pages.chromium;
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await assert.rejects(fetch(pages.url));
  await page.tab.reload();
  await page.ready();
  assert.equal(await page.reply('GET before'), '"offline"');
  assert.equal(await page.reply('ZADD z 1 a'), '(integer) 1');
  await page.close();
});

// The list of keys and the values, driven by clicks and keys.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Pages, eventually } from './page.mjs';

let pages;
before(async () => { pages = await Pages.start(); });
after(() => pages.close());

const ONE_OF_EACH = ['SET s hello', 'HSET h name Ada born 1815', 'RPUSH l a b c', 'SADD t red', 'ZADD z 1.5 m 2 n'];

const rows = (page) => page.tab.locator('#key-list li').evaluateAll((rows) => rows.map((row) => Array.from(row.children, (child) => child.textContent)));

test('keys are listed with their types and sizes', async () => {
  const page = await pages.open();
  await page.enter(...ONE_OF_EACH);
  await eventually(async () => assert.deepEqual(await rows(page), [
    ['hash', 'h', '2 fields', ''], ['list', 'l', '3 elements', ''], ['string', 's', '5 bytes', ''], ['set', 't', '1 member', ''], ['zset', 'z', '2 members', ''],
  ]));
  await page.waitForText('#key-note', '5 keys');
  await page.close();
});

test('a value is shown by its type', async () => {
  const page = await pages.open();
  await page.enter(...ONE_OF_EACH);
  await page.waitForText('#key-note', '5 keys');
  await page.tab.click('#tab-value');
  const expected = {
    h: ['born', '1815', 'name', 'Ada'], l: ['0', 'a', '1', 'b', '2', 'c'], t: ['red'], z: ['0', 'm', '1.5', '1', 'n', '2'],
  };
  for (const [key, cells] of Object.entries(expected)) {
    await page.choose(key);
    await eventually(async () => assert.deepEqual(await page.texts('#panel-value td'), cells));
  }
  await page.choose('s');
  await page.waitForText('#panel-value .value-text', 'hello');
  await page.close();
});

test('bytes that are no text are shown as a hex dump', async () => {
  const page = await pages.open();
  await page.enter('SET b "\\x00\\xffA"');
  await page.waitForText('#key-note', '1 key');
  await page.choose('b');
  await page.tab.click('#tab-value');
  await page.waitForText('.value-hex', '00 ff 41');
  await page.close();
});

test('a long collection comes a page at a time, and what has come stays when the key changes', async () => {
  const page = await pages.open();
  const shows = (count) => eventually(async () => assert.equal(await page.tab.locator('#panel-value tbody tr').count(), count));
  const push = (key, count) => page.enter(`RPUSH ${key} ${Array.from({ length: count }, (_, at) => `e${at}`).join(' ')}`);
  await push('long', 150);
  await page.tab.click('#tab-value');
  await shows(100);
  await page.tab.click('#panel-value .value button');
  await shows(150);
  await push('long', 1);
  await shows(151);
  await push('other', 150);
  await shows(100);
  await page.close();
});

test('times to live count down, and the key goes at their end', async () => {
  const page = await pages.open();
  await page.enter('SET soon 1 PX 2500');
  const ttl = page.tab.locator('#key-list .ttl');
  await eventually(async () => assert.equal(await ttl.innerText(), '3 s'));
  await eventually(async () => assert.equal(await ttl.innerText(), '1 s'));
  await eventually(async () => assert.deepEqual(await rows(page), []));
  await page.close();
});

test('search takes a glob pattern, or a part of a name', async () => {
  const page = await pages.open();
  await page.enter('MSET user:1 a user:2 b job:1 c');
  for (const [typed, found] of [['user:*', ['user:1', 'user:2']], ['ob', ['job:1']], ['*:1', ['job:1', 'user:1']], ['?', []]]) {
    await page.tab.fill('#key-search', typed);
    await eventually(async () => assert.deepEqual(await page.texts('#key-list .name'), found));
  }
  await page.close();
});

test('a key is renamed, given an expiry and deleted from the page', async () => {
  const page = await pages.open();
  await page.enter('SET old 1', 'SET taken 2');
  await page.waitForText('#key-note', '2 keys');
  await page.choose('old');
  await page.tab.click('#do-rename');
  await page.tab.fill('dialog input', 'taken');
  await page.tab.press('dialog input', 'Enter');
  await page.waitForText('dialog .problem', 'There is a key of that name.');
  await page.tab.fill('dialog input', 'new name');
  await page.tab.press('dialog input', 'Enter');
  await eventually(async () => assert.deepEqual(await page.texts('#key-list .name'), ['new name', 'taken']));
  await page.waitForText('#selected-facts', '1 byte');
  await page.tab.click('#do-expire');
  await page.tab.fill('dialog input', '90');
  await page.tab.press('dialog input', 'Enter');
  await page.waitForText('#selected-ttl', 'expires in 1 m');
  await page.tab.click('#do-delete');
  await page.tab.click('dialog .danger');
  await eventually(async () => assert.deepEqual(await page.texts('#key-list .name'), ['taken']));
  await page.close();
});

test('the list is walked with the arrow keys', async () => {
  const page = await pages.open();
  await page.enter('MSET a 1 b 2 c 3');
  await page.waitForText('#key-note', '3 keys');
  await page.tab.focus('#key-list');
  for (const [key, selected] of [['Home', 'a'], ['ArrowDown', 'b'], ['End', 'c'], ['ArrowUp', 'b']]) {
    await page.tab.keyboard.press(key);
    await page.waitFor((name) => document.querySelector('#key-list [aria-selected=true] .name')?.textContent === name, selected);
  }
  await page.tab.keyboard.press('Delete');
  await page.waitForText('dialog', 'Delete');
  await page.tab.keyboard.press('Escape');
  await eventually(async () => assert.equal(await page.tab.locator('dialog').count(), 0));
  await page.close();
});

test('keys of names that are no text can be chosen', async () => {
  const page = await pages.open();
  await page.enter('SET "\\xff\\x00" 1');
  await eventually(async () => assert.deepEqual(await page.texts('#key-list .name'), ['"\\xff\\x00"']));
  await page.tab.click('#key-list li');
  await page.waitForText('#selected-facts', '1 byte');
  await page.close();
});

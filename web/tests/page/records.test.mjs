// The records of a key, and what commands do to them.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Pages, eventually } from './page.mjs';

let pages;
before(async () => { pages = await Pages.start(); });
after(() => pages.close());

/** What the list shows: of each record its keyspace, its state, and the fields of key and value with their bytes. */
function shown(page, list = '#record-list') {
  return page.tab.locator(`${list} .record`).evaluateAll((records) => records.map((record) => ({
    keyspace: record.closest('.group').querySelector('h3 b').textContent,
    state: /state-(\w+)/.exec(record.className)[1],
    runs: Array.from(record.querySelectorAll('.runs:not(.before) .run'), (run) => Array.from(run.children, (child) => child.textContent.trim())),
    before: Array.from(record.querySelectorAll('.before .run'), (run) => run.children[1].textContent),
  })));
}

const states = async (page) => (await shown(page)).map(({ keyspace, state }) => `${keyspace} ${state}`);

test('each byte of a record stands in a field with a name and a colour', async () => {
  const page = await pages.open();
  await page.enter('SET k v');
  await eventually(async () => {
    const [record] = await shown(page);
    assert.deepEqual(record.runs.map(([field, bytes]) => [field, bytes]), [
      ['space', '00 00 00 01'], ['user key', '6b'], ['kind', '01'], ['flags', '00'], ['value', '76'],
    ]);
    assert.equal(record.runs.at(-1)[2], '"v"');
  });
  const colors = await page.tab.locator('#record-list .run').evaluateAll((runs) => runs.map((run) => getComputedStyle(run).backgroundColor));
  assert.equal(new Set(colors).size, colors.length);
  assert.deepEqual(await page.texts('#legend dt'), ['kind', 'space', 'key', 'value', 'other']);
  await page.close();
});

test('a command that changes a score shows what it read, wrote and removed, before and after', async () => {
  const page = await pages.open();
  await page.enter('ZADD scores 120 ada 90 bob');
  await eventually(async () => assert.deepEqual(await states(page), ['meta new', 'data new', 'data new', 'score new', 'score new']));
  await page.enter('ZADD scores GT 130 bob');
  await eventually(async () => assert.deepEqual(await states(page), ['meta read', 'data same', 'data changed', 'score removed', 'score same', 'score new']));
  const changed = (await shown(page)).find(({ state }) => state === 'changed');
  assert.deepEqual(changed.runs.at(-1).slice(0, 2), ['score', '40 60 40 00 00 00 00 00']);
  assert.deepEqual(changed.before, ['40 56 80 00 00 00 00 00']);
  assert.match(await page.tab.locator('#last-command').innerText(), /ZADD scores GT 130 bob[^]*2 read[^]*2 written[^]*1 removed/);
  await page.close();
});

test('a command that only reads marks what it read', async () => {
  const page = await pages.open();
  await page.enter('HSET h a 1 b 2', 'HGET h a');
  await eventually(async () => assert.deepEqual(await states(page), ['meta read', 'data read', 'data same']));
  await page.close();
});

test('DEL removes the head of a collection and leaves a note in garbage', async () => {
  const page = await pages.open();
  await page.enter('SADD s a b', 'DEL s');
  await eventually(async () => {
    const [head] = await shown(page);
    assert.deepEqual([head.keyspace, head.state], ['meta', 'removed']);
    assert.deepEqual((await shown(page, '#other-records')).map(({ keyspace, state }) => [keyspace, state]), [['garbage', 'written']]);
  });
  await page.close();
});

test('EXEC marks what the transaction wrote', async () => {
  const page = await pages.open();
  await page.enter('HSET h a 1', 'MULTI', 'HSET h a 2', 'EXEC');
  await eventually(async () => assert.deepEqual(await states(page), ['meta read', 'data changed']));
  await page.close();
});

test('bytes are shown as digits or as characters', async () => {
  const page = await pages.open();
  await page.enter('SET name Ada');
  await page.waitForText('#record-list', '6e 61 6d 65');
  await page.tab.click('#notation [value=text]');
  await page.waitForText('#record-list', 'name');
  assert.equal((await shown(page))[0].runs[0][1], '····');
  await page.close();
});

test('records of a large key come a page at a time, and what was written beyond it is shown', async () => {
  const page = await pages.open();
  await page.enter(`SADD large ${Array.from({ length: 200 }, (_, at) => `m${1000 + at}`).join(' ')}`, 'SADD large zzz');
  await page.waitForText('#other-records', '"zzz"');
  const before = (await shown(page)).length;
  await page.tab.click('#record-list button');
  await eventually(async () => assert.ok((await shown(page)).length > before));
  await page.close();
});

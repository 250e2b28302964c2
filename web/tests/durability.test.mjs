// What was acknowledged is there afterwards, whatever becomes of the tab.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Chromium } from './chromium.mjs';

let chromium;
before(async () => { chromium = await Chromium.start(); });
after(() => chromium.close());

const ROUNDS = 4;
const WRITES_A_ROUND = 40;

/** A tab that has opened the database, as `db`. */
async function tab(options) {
  const page = await chromium.page();
  await page.evaluate(async (options) => { globalThis.db = await orbweaver.open(options); }, options);
  return page;
}

/** Writes from `first` on, several transactions at a time, for as long as the tab lives. Each number goes into three structures. */
function write(page, first) {
  const work = async (first) => {
    let n = first;
    const writer = async () => {
      for (;;) {
        const number = n++;
        await db.transaction([['SET', `k:${number}`, 'x'.repeat(number % 5000)], ['ZADD', 'z', number, number], ['RPUSH', 'l', number]]);
        await acknowledged(number);
      }
    };
    await Promise.all([writer(), writer(), writer()]);
  };
  // Ends with the tab.
  page.evaluate(work, first).catch(() => {});
}

/** What is there: the numbers of each structure, sorted, and what `check` finds. */
function state(page) {
  return page.evaluate(async () => {
    const numbers = (list) => list.map(Number).sort((a, b) => a - b);
    const keys = (await db.command('KEYS', 'k:*')).map((key) => key.slice(2));
    const findings = [];
    for await (const finding of db.check()) findings.push(finding.what);
    return {
      keys: numbers(keys), members: numbers(await db.command('ZRANGE', 'z', 0, -1)), elements: numbers(await db.command('LRANGE', 'l', 0, -1)), findings,
    };
  });
}

for (const durability of ['relaxed', 'strict']) {
  test(`a renderer that is killed in the middle of writes loses nothing (${durability})`, async () => {
    const acknowledged = new Set();
    let first = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const page = await tab({ name: `killed-${durability}`, durability });
      const before = acknowledged.size;
      const enough = new Promise((resolve) => {
        page.exposeFunction('acknowledged', (number) => {
          acknowledged.add(number);
          if (acknowledged.size >= before + WRITES_A_ROUND) resolve();
        }).then(() => write(page, first));
      });
      await enough;
      const gone = page.waitForEvent('crash');
      const devtools = await chromium.browser.newCDPSession(page);
      devtools.send('Page.crash').catch(() => {});
      await gone;
      await page.close();

      const next = await tab({ name: `killed-${durability}`, durability });
      const { keys, members, elements, findings } = await state(next);
      assert.deepEqual(findings, []);
      assert.deepEqual(members, keys, 'a transaction is there as a whole');
      assert.deepEqual(elements, keys, 'a transaction is there as a whole');
      const there = new Set(keys);
      assert.deepEqual([...acknowledged].filter((number) => !there.has(number)), [], 'what was acknowledged is there');
      first = Math.max(...keys) + 1;
      await next.close();
    }
    assert.ok(acknowledged.size >= ROUNDS * WRITES_A_ROUND);
  });
}

test('data survive a reload, and the end of the browser', async () => {
  const page = await tab({ name: 'reloaded' });
  await page.evaluate(() => db.pipeline([['SET', 's', 'v'], ['HSET', 'h', 'f', 'v'], ['SADD', 'set', 'a', 'b'], ['EXPIRE', 's', 1000]]));
  await page.reload();
  await page.waitForFunction(() => globalThis.isReady);
  const read = async () => {
    const db = await orbweaver.open({ name: 'reloaded' });
    return [await db.command('GET', 's'), [...await db.command('HGETALL', 'h')], await db.command('SCARD', 'set'), await db.command('TTL', 's') > 900];
  };
  const expected = ['v', [['f', 'v']], 2, true];
  assert.deepEqual(await page.evaluate(read), expected);
  await chromium.browser.close();
  await chromium.launch();
  const next = await chromium.page();
  assert.deepEqual(await next.evaluate(read), expected);
  await next.close();
});

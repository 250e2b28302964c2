// What browsers refuse: each with an error that says so, and nothing half-written.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Chromium } from './chromium.mjs';

let chromium;
let page;
before(async () => {
  chromium = await Chromium.start();
  page = await chromium.page();
});
after(() => chromium.close());

test('a write beyond the quota is an error, writes nothing, and is no harm to what follows', async () => {
  const devtools = await chromium.browser.newCDPSession(page);
  const quota = (quotaSize) => devtools.send('Storage.overrideQuotaForOrigin', { origin: chromium.origin, quotaSize });
  // Before the database is opened: Chromium keeps what it knows of the quota for a while.
  await quota(1 << 20);
  const refused = await page.evaluate(async () => {
    globalThis.db = await orbweaver.open({ name: 'quota' });
    await db.command('SET', 'before', 'here');
    const value = new Uint8Array(300_000);
    // As many bytes as one call fills.
    for (let at = 0; at < value.length; at += 60_000) crypto.getRandomValues(value.subarray(at, at + 60_000));
    for (let n = 0; n < 10; n++) {
      const error = await db.command('SET', `large:${n}`, value).then(() => null, (error) => error);
      if (error) return { message: error.message, n };
    }
    return null;
  });
  assert.ok(refused, 'nothing was refused');
  assert.match(refused.message, /storage quota/);
  const [absent, here, later, findings] = await page.evaluate(async (n) => {
    const findings = [];
    for await (const finding of db.check()) findings.push(finding.what);
    return [await db.command('GET', `large:${n}`), await db.command('GET', 'before'), await db.command('SET', 'later', 'v'), findings];
  }, refused.n);
  assert.deepEqual([absent, here, later, findings], [null, 'here', 'OK', []]);
  await page.evaluate(() => db.close());
  await quota(undefined);
});

test('a database that somebody else holds open does not open, and does when they let go', async () => {
  const message = await page.evaluate(async () => {
    const request = indexedDB.open('orbweaver:blocked');
    await new Promise((resolve) => { request.onsuccess = resolve; });
    globalThis.foreign = request.result;
    return orbweaver.open({ name: 'blocked' }).catch((error) => error.message);
  });
  assert.match(message, /another tab or window holds an older connection/);
  const reply = await page.evaluate(async () => {
    foreign.close();
    const db = await orbweaver.open({ name: 'blocked' });
    const reply = await db.command('SET', 'k', 'v');
    await db.close();
    return reply;
  });
  assert.equal(reply, 'OK');
});

test('a database that the browser closes is reported', async () => {
  const devtools = await chromium.browser.newCDPSession(page);
  await page.evaluate(async () => {
    globalThis.db = await orbweaver.open({ name: 'cleared' });
    await db.command('SET', 'k', 'v');
  });
  await devtools.send('Storage.clearDataForOrigin', { origin: chromium.origin, storageTypes: 'indexeddb' });
  const message = await page.evaluate(() => db.command('SET', 'k', 'w').catch((error) => error.message));
  assert.match(message, /the browser has closed the database/);
  await page.evaluate(() => db.close());
});

test('keys and values above the limits are refused, and just below are kept', async () => {
  const outcome = await page.evaluate(async () => {
    const db = await orbweaver.open({ name: 'limits' });
    const set = (key, value) => db.command('SET', key, value).catch((error) => error.message);
    const bytes = (length) => new Uint8Array(length);
    const outcome = [await set(bytes((1 << 20) - 100), 'v'), await set(bytes((1 << 20) + 1), 'v'), await set('v', bytes((64 << 20) - 100)), await set('w', bytes((64 << 20) + 1))];
    outcome.push(await db.command('STRLEN', 'v'), await db.command('DBSIZE'));
    await db.close();
    await orbweaver.remove('limits');
    return outcome;
  });
  const [key, longKey, value, longValue, length, keys] = outcome;
  assert.deepEqual([key, value, length, keys], ['OK', 'OK', (64 << 20) - 100, 2]);
  assert.match(longKey, /above the store's limit of 1048576/);
  assert.match(longValue, /above the store's limit of 67108864/);
});

test('a layout that orders keys otherwise is refused with a sentence, and leaves no database', async () => {
  const [message, unknown, names] = await page.evaluate(async () => {
    const failure = (layout) => orbweaver.open({ name: 'foreign', layout }).catch((error) => error.message);
    return [await failure('blackwidow'), await failure('nonesuch'), await orbweaver.list()];
  });
  assert.match(message, /IndexedDB compares binary keys byte by byte, and cannot order the keyspace \S+ by blackwidow/);
  assert.match(unknown, /nonesuch/);
  assert.ok(!names.includes('foreign'));
});

test('a browser without what is needed is told apart', async () => {
  const tab = await chromium.page();
  const messages = await tab.evaluate(async () => {
    const failure = () => orbweaver.open({ name: 'n' }).catch((error) => error.message);
    const { Suspending } = WebAssembly;
    delete WebAssembly.Suspending;
    const first = await failure();
    WebAssembly.Suspending = Suspending;
    Object.defineProperty(navigator, 'locks', { value: undefined });
    return [first, await failure()];
  });
  assert.match(messages[0], /This browser cannot run Orbweaver: it lacks WebAssembly\.Suspending/);
  assert.match(messages[1], /Web Locks only to pages that come over HTTPS or from localhost/);
  await tab.close();
});

test('wrong options are refused', async () => {
  const messages = await page.evaluate(async () => {
    const failure = (options) => orbweaver.open(options).catch((error) => error.message);
    return [await failure(), await failure({ name: 'n', durability: 'always' }), await failure({ name: 'n', databases: 0 })];
  });
  assert.match(messages[0], /needs the name/);
  assert.match(messages[1], /'relaxed' or 'strict'/);
  assert.match(messages[2], /databases/);
});

test('a panic costs the connection that caused it, and nobody else', async () => {
  assert.deepEqual(await page.evaluate(() => ask('panic.js')), {
    panicked: ['-ERR internal: ', 'the engine was lost while it ran a command, and was started anew'],
    beside: ['+OK\r\n', '+PONG\r\n', '$1\r\nv\r\n'],
    waiting: ['*2\r\n$5\r\nqueue\r\n$3\r\njob\r\n'],
    selected: ['+OK\r\n', '+OK\r\n', '$3\r\none\r\n'],
  });
});

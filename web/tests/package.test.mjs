// The package, as a page uses it.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Chromium } from './chromium.mjs';

let chromium;
let page;
before(async () => {
  chromium = await Chromium.start();
  page = await chromium.page();
  await page.evaluate(() => {
    /** Runs `work` on a new database. */
    globalThis.onNew = async (work, options = {}) => {
      const name = crypto.randomUUID();
      const db = await orbweaver.open({ name, ...options });
      try {
        return await work(db);
      } finally {
        await db.close();
        await orbweaver.remove(name);
      }
    };
  });
});
after(() => chromium.close());

/** What `work(db)` returns in the page, on a new database. */
const onNew = (work, options) => page.evaluate(`onNew(${work}, ${JSON.stringify(options ?? {})})`);

test('replies have the types of RESP3', async () => {
  const replies = await onNew(async (db) => {
    await db.command('HSET', 'h', 'f', 'v', 'g', 2);
    await db.command('SADD', 's', 'a', 'b');
    await db.command('SET', 'n', 9007199254740993n);
    const hash = await db.command('HGETALL', 'h');
    const set = await db.command('SMEMBERS', 's');
    return [
      hash instanceof Map && Object.fromEntries(hash), set instanceof Set && [...set].sort(), String(await db.command('INCRBY', 'n', 0)),
      await db.command('GET', 'absent'), await db.command('ZADD', 'z', 1.5, 'm'), await db.command('ZSCORE', 'z', 'm'),
      await db.command('PING'), await db.command('ECHO', 'größer'),
    ];
  });
  assert.deepEqual(replies, [{ f: 'v', g: '2' }, ['a', 'b'], '9007199254740993', null, 1, 1.5, 'PONG', 'größer']);
});

test('binary keys and values come back as they are', async () => {
  const [value, empty, text] = await onNew(async (db) => {
    const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    await db.command('SET', bytes, bytes);
    await db.command('SET', 'empty', '');
    return [
      [...await db.command('GET', bytes, { binary: true })], [...await db.command('GET', 'empty', { binary: true })], await db.command('GET', 'empty'),
    ];
  });
  assert.deepEqual(value, Array.from({ length: 256 }, (_, byte) => byte));
  assert.deepEqual([empty, text], [[], '']);
});

test('an error reply rejects a command, and is among the replies of a pipeline', async () => {
  const [rejected, replies] = await onNew(async (db) => {
    const rejected = await db.command('INCR').catch((error) => [error instanceof orbweaver.ReplyError, error.code, error.message]);
    const replies = await db.pipeline([['SET', 'k', 'v'], ['INCR', 'k'], ['GET', 'k']]);
    return [rejected, replies.map((reply) => (reply instanceof orbweaver.ReplyError ? `! ${reply.message}` : reply))];
  });
  assert.deepEqual(rejected, [true, 'ERR', "ERR wrong number of arguments for 'incr' command"]);
  assert.deepEqual(replies, ['OK', '! ERR value is not an integer or out of range', 'v']);
});

test('a transaction has all replies, and is refused as a whole', async () => {
  const [replies, refused, value] = await onNew(async (db) => {
    const replies = await db.transaction([['INCR', 'n'], ['INCR', 'n']]);
    const refused = await db.transaction([['SET', 'n', 7], ['NOSUCHCOMMAND']]).catch((error) => error.code);
    return [replies, refused, await db.command('GET', 'n')];
  });
  assert.deepEqual([replies, refused, value], [[1, 2], 'EXECABORT', '2']);
});

test('what is no argument is refused before anything is sent', async () => {
  const errors = await onNew(async (db) => {
    const failure = (promise) => promise.then(() => 'no error', (error) => error.name);
    return [await failure(db.command('SET', 'k', undefined)), await failure(db.command('SET', 'k', NaN)), await failure(db.command()), await db.command('DBSIZE')];
  });
  assert.deepEqual(errors, ['TypeError', 'TypeError', 'TypeError', 0]);
});

test('a session has a state of its own: SELECT, WATCH, commands that wait, raw bytes', async () => {
  const outcome = await onNew(async (db) => {
    const session = await db.session();
    await session.command('SELECT', 1);
    await session.command('SET', 'k', 'one');
    await db.command('SET', 'k', 'zero');
    await session.command('WATCH', 'w');
    const other = await db.session();
    await other.command('SELECT', 1);
    await other.command('SET', 'w', 'changed');
    const executed = await session.pipeline([['MULTI'], ['SET', 'k', 'two'], ['EXEC']]);
    const waits = session.command('BLPOP', 'queue', 0);
    await other.command('RPUSH', 'queue', 'job');
    const popped = await waits;
    const old = await db.session({ protocol: 2 });
    await old.command('HSET', 'h', 'f', 'v');
    const raw = new TextDecoder().decode(await old.raw(new TextEncoder().encode('*2\r\n$7\r\nHGETALL\r\n$1\r\nh\r\n')));
    const values = [await session.command('GET', 'k'), await db.command('GET', 'k')];
    session.close();
    const closed = await session.command('PING').catch((error) => error.message);
    return { values, executed: executed.at(-1), popped, raw, closed };
  });
  assert.deepEqual(outcome, {
    values: ['one', 'zero'], executed: null, popped: ['queue', 'job'], raw: '*2\r\n$1\r\nf\r\n$1\r\nv\r\n', closed: 'the connection is closed',
  });
});

test('a wait ends when its time is over', async () => {
  assert.equal(await onNew(async (db) => (await db.session()).command('BLPOP', 'queue', 0.1)), null);
});

test('subscribers hear what is published until they have enough', async () => {
  const heard = await onNew(async (db) => {
    const heard = [];
    const end = await db.subscribe(['one', 'two'], (channel, message) => heard.push(`${channel} ${message}`));
    const receivers = [await db.command('PUBLISH', 'one', 'a'), await db.command('PUBLISH', 'two', 'b'), await db.command('PUBLISH', 'three', 'c')];
    await end();
    receivers.push(await db.command('PUBLISH', 'one', 'd'));
    return [heard, receivers];
  });
  assert.deepEqual(heard, [['one a', 'two b'], [1, 1, 0, 0]]);
});

test('a dump loads into another database, and equals its dump', async () => {
  const [same, loaded, lines, damaged] = await onNew(async (db) => {
    const collect = async (stream) => {
      const chunks = [];
      for await (const chunk of stream) chunks.push(chunk);
      return new Blob(chunks);
    };
    await db.pipeline([['SET', 's', 'v'], ['RPUSH', 'l', 1, 2, 3], ['ZADD', 'z', 1, 'm'], ['SADD', 'set', 'a'], ['HSET', 'h', 'f', 'v']]);
    for (let n = 0; n < 20; n++) await db.pipeline(Array.from({ length: 500 }, (_, m) => ['RPUSH', `list:${n}`, `element ${m}`]));
    const dump = await collect(db.dump());
    const name = crypto.randomUUID();
    const other = await orbweaver.open({ name });
    const loaded = await other.load(dump);
    const again = await collect(other.dump());
    const damaged = await other.load(new Blob([await dump.text(), '{"wrong":1}\n'])).catch((error) => error.message);
    await other.close();
    await orbweaver.remove(name);
    const text = await dump.text();
    return [await again.text() === text, Number(loaded.keys), text.trimEnd().split('\n').length, damaged];
  });
  assert.ok(same);
  assert.ok(loaded === 25 && lines >= 25, `${loaded} keys, ${lines} lines`);
  assert.match(damaged, new RegExp(`line ${lines + 1}\\b`));
});

test('a load ends where it is told to', async () => {
  const outcome = await onNew(async (db) => {
    const abort = new AbortController();
    async function* lines() {
      yield new TextEncoder().encode('{"db":0,"key":"YQ==","type":"string","expire_at_ms":null,"value":"MQ=="}\n');
      abort.abort();
      yield new TextEncoder().encode('{"db":0,"key":"Yg==","type":"string","expire_at_ms":null,"value":"MQ=="}\n');
    }
    const error = await db.load(lines(), { signal: abort.signal }).catch((error) => error.name);
    return [error, await db.command('DBSIZE')];
  });
  assert.deepEqual(outcome, ['AbortError', 1]);
});

test('sweep removes what has expired, and check finds nothing', async () => {
  const [swept, left, findings] = await onNew(async (db) => {
    await db.pipeline([['SET', 'a', 1, 'PX', 1], ['SET', 'b', 1], ['HSET', 'h', 'f', 'v'], ['DEL', 'h']]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const { expiredKeys } = await db.sweep();
    const records = [];
    for await (const { key } of db.records()) records.push(new TextDecoder().decode(key));
    const findings = [];
    for await (const finding of db.check()) findings.push(finding);
    return [Number(expiredKeys), records.some((key) => key.endsWith('a')), findings];
  });
  assert.deepEqual([swept, left, findings], [1, false, []]);
});

test('a trace shows what a command reads and writes', async () => {
  const [write, read, after] = await onNew(async (db) => {
    const events = [];
    const end = db.trace((event) => events.push(event));
    await db.command('SET', 'k', 'value');
    const write = events.splice(0);
    await db.command('GET', 'k');
    const read = events.splice(0);
    end();
    await db.command('SET', 'k', 'other');
    const flat = (list) => list.flatMap(({ puts, reads, ms }) => [{ puts: puts.map(({ keyspace }) => keyspace), reads: reads.length, timed: ms >= 0 }]);
    return [flat(write), flat(read), events.length];
  });
  assert.ok(write.some(({ puts }) => puts.includes('meta')), JSON.stringify(write));
  assert.ok(read.some(({ reads, timed }) => reads > 0 && timed), JSON.stringify(read));
  assert.equal(after, 0);
});

test('the typed interfaces work on the same data', async () => {
  const outcome = await onNew(async (db) => {
    const bytes = (text) => new TextEncoder().encode(text);
    const any = { which: 'any', comparison: 'any' };
    const { added } = await db.sortedSets.add(0, bytes('z'), [[2, bytes('b')], [1, bytes('a')]], any);
    const wrong = await db.lists.length(0, bytes('z')).catch((error) => [error instanceof orbweaver.TypedError, error.tag]);
    const unknown = await db.lists.reverse().catch((error) => error.message);
    const session = await db.session();
    const waits = session.command('BLPOP', 'queue', 0);
    await db.lists.push(0, bytes('queue'), 'tail', [bytes('job')]);
    return [Number(added), await db.command('ZRANGE', 'z', 0, -1), wrong, unknown, await waits];
  });
  assert.deepEqual(outcome, [2, ['a', 'b'], [true, 'wrong-type'], 'there is no function lists.reverse', ['queue', 'job']]);
});

test('the records of a key are taken apart', async () => {
  const [records, described] = await onNew(async (db) => {
    await db.command('HSET', 'h', 'f', 'v');
    const { records } = await db.inspect(0, 'h');
    const { keyspace, key, value } = records[0];
    return [records.map(({ keyspace, keyRuns, key }) => [keyspace, keyRuns.reduce((sum, { length }) => sum + length, 0) === key.length]), (await db.describe(keyspace, key, value)).note];
  });
  assert.deepEqual(records[0], ['meta', true]);
  assert.ok(records.length >= 2 && described.length > 0);
});

test('the commands are described', async () => {
  const get = await onNew(async (db) => (await db.commands()).find(({ name }) => name === 'get'));
  assert.equal(get.arity, 2);
  assert.equal(get.group, 'string');
  assert.ok(get.summary.length > 0 && get.flags.includes('readonly'));
});

test('databases have names', async () => {
  const names = await page.evaluate(async () => {
    const opened = [await orbweaver.open({ name: 'b' }), await orbweaver.open({ name: 'a', databases: 1 })];
    const listed = await orbweaver.list();
    const refused = await orbweaver.remove('a').catch((error) => error.message);
    const outside = await opened[1].command('SELECT', 1).catch((error) => error.message);
    for (const db of opened) await db.close();
    for (const name of listed) await orbweaver.remove(name);
    return [listed, refused, outside, await orbweaver.list()];
  });
  assert.deepEqual(names, [
    ['a', 'b'], 'the database a is open in this tab or another one: close it first', 'ERR DB index is out of range', [],
  ]);
});

test('a large pipeline is answered in order', async () => {
  const wrong = await onNew(async (db) => {
    const replies = await db.pipeline(Array.from({ length: 5000 }, (_, n) => ['SET', `k:${n % 100}`, n, 'GET']));
    return replies.findIndex((reply, n) => reply !== (n < 100 ? null : String(n - 100)));
  });
  assert.equal(wrong, -1);
});

test('a worker may open a database, too', async () => {
  assert.deepEqual(await page.evaluate(() => ask('nested.js', 'nested')), ['v', false]);
});

test('storage tells of use and quota', async () => {
  const { usage, quota, persisted } = await onNew((db) => db.storage());
  assert.ok(usage > 0 && quota > usage && persisted === false);
});

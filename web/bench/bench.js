// The benchmark, in the page: the same work by Orbweaver and by code for IndexedDB itself, in turn, on two databases that live at once.

import { open, remove } from '/orbweaver/src/index.js';
import * as plain from './indexeddb.js';

/** Elements of a hash or a sorted set, and bytes of a value. */
const ELEMENTS = 100;
const VALUE = 'v'.repeat(100);
/** How many keys are read. */
const KEYS = 100;
/** Rounds that are measured; some before them are not. */
const ROUNDS = 40;
const WARM_UP = 5;

const fields = Array.from({ length: ELEMENTS }, (_, n) => [`field:${n}`, VALUE]);
const members = Array.from({ length: ELEMENTS }, (_, n) => [`member:${n}`, (n * 37) % ELEMENTS]);
const numbers = (first, length) => Array.from({ length }, (_, n) => first + n);

/** Each kind of work: `commands` of Orbweaver for a number, and what does the same for several numbers at once. */
const WORK = [
  { name: 'SET', batch: 100, command: (n) => ['SET', `new:${n}`, VALUE], plain: (db, all) => db.set(all.map((n) => [`new:${n}`, VALUE])) },
  { name: 'GET', batch: 100, command: (n) => ['GET', `key:${n % KEYS}`], plain: (db, all) => db.get(all.map((n) => `key:${n % KEYS}`)) },
  {
    name: `ZADD of ${ELEMENTS}`, batch: 10,
    command: (n) => ['ZADD', `newset:${n}`, ...members.flatMap(([member, score]) => [score, member])],
    plain: (db, all) => db.zadd(all.map((n) => [`newset:${n}`, members])),
  },
  { name: `ZRANGE of ${ELEMENTS}`, batch: 20, command: (n) => ['ZRANGE', `set:${n % KEYS}`, 0, -1, 'WITHSCORES'], plain: (db, all) => db.zrange(all.map((n) => `set:${n % KEYS}`)) },
  { name: `HGETALL of ${ELEMENTS}`, batch: 20, command: (n) => ['HGETALL', `hash:${n % KEYS}`], plain: (db, all) => db.hgetall(all.map((n) => `hash:${n % KEYS}`)) },
];

/** Runs everything; milliseconds a command, in the round that a quarter of all is faster than: a busy machine makes rounds slow, none fast. */
export async function bench() {
  const orbweaver = await open({ name: 'bench', durability: 'relaxed' });
  const database = await plain.open('bench-plain');
  await fill(orbweaver, database);
  const rows = [];
  for (const { name, batch, command, plain } of WORK) {
    let next = 0;
    const alone = async (work) => { for (const n of numbers(next, batch)) await work([n]); };
    const together = (work) => work(numbers(next, batch));
    for (const [way, run] of [['one by one', alone], [`${batch} at once`, together]]) {
      const ours = [];
      const theirs = [];
      for (let round = -WARM_UP; round < ROUNDS; round++) {
        next += batch;
        const our = await timed(() => run((all) => (all.length === 1 ? orbweaver.command(...command(all[0])) : orbweaver.pipeline(all.map(command)))));
        const their = await timed(() => run((all) => plain(database, all)));
        if (round < 0) continue;
        ours.push(our / batch);
        theirs.push(their / batch);
      }
      rows.push({ name, way, ours: lowerQuartile(ours), theirs: lowerQuartile(theirs) });
    }
  }
  await orbweaver.close();
  database.close();
  await remove('bench');
  indexedDB.deleteDatabase('bench-plain');
  return rows;
}

async function fill(orbweaver, database) {
  const all = numbers(0, KEYS);
  await database.set(all.map((n) => [`key:${n}`, VALUE]));
  await database.hset(all.map((n) => [`hash:${n}`, fields]));
  await database.zadd(all.map((n) => [`set:${n}`, members]));
  await orbweaver.pipeline(all.flatMap((n) => [
    ['SET', `key:${n}`, VALUE], ['HSET', `hash:${n}`, ...fields.flat()], ['ZADD', `set:${n}`, ...members.flatMap(([member, score]) => [score, member])],
  ]));
}

async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function lowerQuartile(times) {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 4)];
}

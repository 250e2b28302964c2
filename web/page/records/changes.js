// What a command did to records, from its trace and from how they were before.

import { equal } from '../bytes.js';
import { identity } from '../engine.js';

/** @typedef {import('../engine.js').Ran} Ran */
/** @typedef {import('../engine.js').Engine} Engine */
/** @typedef {import('orbweaver').InspectedRecord} InspectedRecord */
/** @typedef {import('orbweaver').TraceEvent} TraceEvent */

/**
 * @typedef {object} Shown A record, and what the last command had to do with it.
 * @property {InspectedRecord} record As it is; a removed one as it was.
 * @property {'same' | 'read' | 'new' | 'changed' | 'written' | 'removed'} state `written`: nobody knows whether it was there.
 * @property {InspectedRecord | null} before Of a changed one.
 */

/** @typedef {{ own: Shown[], others: Shown[], read: number, written: number, removed: number }} Changes */

/** Records as they are, and nothing more. @param {InspectedRecord[]} records @returns {Shown[]} */
export const unchanged = (records) => records.map((record) => ({ record, state: 'same', before: null }));

/**
 * @param {Engine} engine
 * @param {Ran} ran
 * @param {InspectedRecord[]} after The key's first records now.
 * @param {boolean} isWhole They are all that there are.
 * @returns {Promise<Changes>}
 */
export async function changes(engine, ran, after, isWhole) {
  const touched = gather(ran.traced);
  const before = new Map(ran.before.map((record) => [identity(record), record]));
  const now = new Set(after.map(identity));
  const own = after.map((record) => shown(record, before.get(identity(record)) ?? null, touched, ran.isWhole));
  const gone = ran.before.filter((record) => !now.has(identity(record)) && (isWhole || isRemoved(record, touched)));
  const all = inOrder([...own, ...gone.map((record) => /** @type {Shown} */ ({ record, state: 'removed', before: null }))]);
  const known = new Set([...now, ...before.keys()]);
  return {
    own: all,
    others: await others(engine, touched, known),
    read: touched.reads.size,
    written: touched.puts.size,
    removed: touched.deletes.size + touched.ranges.length,
  };
}

/** @typedef {ReturnType<typeof gather>} Touched */

/** All that a command touched, over its transactions. @param {TraceEvent[]} events */
function gather(events) {
  const reads = new Map(events.flatMap((event) => event.reads).map((read) => [identity(read), read]));
  for (const { keyspace, keys } of events.flatMap((event) => event.scans)) {
    for (const key of keys) reads.set(identity({ keyspace, key }), { keyspace, key, found: true });
  }
  const puts = new Map(events.flatMap((event) => event.puts).map((put) => [identity(put), put]));
  const deletes = new Map(events.flatMap((event) => event.deletes).map((record) => [identity(record), record]));
  return { reads, puts, deletes, ranges: events.flatMap((event) => event.ranges) };
}

/** @param {InspectedRecord} record @param {InspectedRecord | null} before @param {Touched} touched @param {boolean} isWhole All records before are known. @returns {Shown} */
function shown(record, before, touched, isWhole) {
  if (!touched.puts.has(identity(record))) return { record, state: touched.reads.has(identity(record)) ? 'read' : 'same', before: null };
  if (!before) return { record, state: isWhole ? 'new' : stateOfPut(record, touched), before: null };
  return equal(before.value, record.value) ? { record, state: 'written', before: null } : { record, state: 'changed', before };
}

/**
 * The state of a written record, by what the command found when it looked.
 * @param {{ keyspace: string, key: Uint8Array }} put @param {Touched} touched @returns {Shown['state']}
 */
function stateOfPut(put, touched) {
  const read = touched.reads.get(identity(put));
  return read ? (read.found ? 'changed' : 'new') : 'written';
}

/**
 * Records that belong to no key, or to another one: what was written and removed of them.
 * @param {Engine} engine @param {Touched} touched @param {Set<string>} known @returns {Promise<Shown[]>}
 */
async function others(engine, touched, known) {
  const puts = Array.from(touched.puts.values()).filter((put) => !known.has(identity(put)));
  const deletes = Array.from(touched.deletes.values()).filter((record) => !known.has(identity(record)));
  const written = puts.map(async (put) => {
    const record = await engine.database.describe(put.keyspace, put.key, put.value);
    return /** @type {Shown} */ ({ record, state: stateOfPut(put, touched), before: null });
  });
  const removed = deletes.map(({ keyspace, key }) => /** @type {Shown} */ ({ record: bare(keyspace, key), state: 'removed', before: null }));
  return inOrder([...(await Promise.all(written)), ...removed]);
}

/** A record of which only the key is known. @param {string} keyspace @param {Uint8Array} key @returns {InspectedRecord} */
const bare = (keyspace, key) => ({ keyspace, key, keyRuns: [], value: new Uint8Array(), valueRuns: [], note: '' });

/** @param {InspectedRecord} record @param {Touched} touched */
const isRemoved = (record, touched) => touched.deletes.has(identity(record)) || touched.ranges.some((range) => isWithin(record, range));

/** @param {InspectedRecord} record @param {{ keyspace: string, start: Uint8Array, end?: Uint8Array }} range */
const isWithin = ({ keyspace, key }, range) => keyspace === range.keyspace && compare(key, range.start) >= 0 && (!range.end || compare(key, range.end) < 0);

const ORDER = ['meta', 'expiry', 'data', 'score', 'rank', 'field-expiry', 'garbage', 'system'];

/** @param {Shown[]} all */
const inOrder = (all) => all.toSorted(({ record: a }, { record: b }) => place(a.keyspace) - place(b.keyspace) || compare(a.key, b.key));

/** @param {string} keyspace */
const place = (keyspace) => (ORDER.includes(keyspace) ? ORDER.indexOf(keyspace) : ORDER.length);

/** As unsigned bytes, the shorter first. @param {Uint8Array} a @param {Uint8Array} b */
function compare(a, b) {
  const differs = a.findIndex((byte, position) => byte !== b[position]);
  return differs < 0 || differs >= b.length ? a.length - b.length : a[differs] - b[differs];
}

// The contract `orbweaver:kv` (wit/kv/store.wit) over LMDB: nine functions in plain JavaScript.

import { crc32 } from 'node:zlib';
import { open } from 'lmdb';

const PUT = 1, DELETE = 2, DELETE_RANGE = 3;
// An operation of a batch: kind, keyspace, and the lengths of the two byte strings behind it.
const HEADER_BYTES = 13;

// Lock keys share this many counters. A shared one is at worst a false alarm.
const STRIPES = 4096;
const EPOCH = 'epoch', COMMITS = 'commits';

// LMDB's limit for keys with pages of 4096 bytes, and a round number below its limit for values.
const MAX_KEY_BYTES = 1978, MAX_VALUE_BYTES = 1 << 30;
const MAX_KEYSPACES = 64;

/** A case of the contract's variant `error`; jco hands `payload` to the component. */
class Failure extends Error {
  constructor(tag, val) {
    super(tag);
    this.payload = { tag, val };
  }
}

/** A store in the folder `path`. */
export class LmdbStore {
  #root;
  #revisions;
  #keyspaces = [];
  #transaction = null;
  #isInDoubt = false;

  constructor(path) {
    // Without overlapping, a commit is on the disk before it is acknowledged.
    this.#root = open({ path, maxDbs: MAX_KEYSPACES + 1, overlappingSync: false });
    this.#revisions = this.#root.openDB('revisions');
  }

  getLimits() {
    const unlimited = 2n ** 64n - 1n;
    return {
      maxKeyBytes: BigInt(MAX_KEY_BYTES), maxValueBytes: BigInt(MAX_VALUE_BYTES),
      maxBatchOps: unlimited, maxBatchBytes: unlimited, readOnly: false,
    };
  }

  openKeyspace(name, order) {
    if (order !== 'bytes') throw new Failure('unsupported-order', order);
    const opened = this.#keyspaces.findIndex((keyspace) => keyspace.name === name);
    if (opened >= 0) return opened;
    // LMDB compares binary keys as the contract wants it: by unsigned bytes, the shorter one first.
    const records = this.#root.openDB(`keyspace ${name}`, { keyEncoding: 'binary', encoding: 'binary' });
    return this.#keyspaces.push({ name, records }) - 1;
  }

  begin(scope) {
    if (this.#transaction) throw new Failure('io', 'a transaction is open');
    if (this.#isInDoubt && scope.tag !== 'read') throw new Failure('unknown-outcome', 'a commit before has failed: open the store anew');
    // LMDB's own read transaction: one state of the store, that writers do not disturb.
    const snapshot = this.#latest().useReadTransaction();
    const lockKeys = scope.tag === 'keys' ? split(scope.val) : [];
    // What the commit relies on: nobody else has changed what these counters count.
    const relied = { read: [], keys: [EPOCH, ...lockKeys.map(stripe)], exclusive: [EPOCH, COMMITS] }[scope.tag];
    const counts = relied.map((counter) => this.#count(counter, snapshot));
    this.#transaction = { snapshot, scope: scope.tag, lockKeys, relied, counts };
    return BigInt(this.#count(EPOCH, snapshot));
  }

  get(keyspace, key) {
    return this.#records(keyspace).get(key, { transaction: this.#open().snapshot });
  }

  getMany(keyspaces, keys) {
    const values = split(keys).map((key, position) => this.get(keyspaces[position], key));
    const absent = values.flatMap((value, position) => (value === undefined ? [position] : []));
    return { values: join(values.map((value) => value ?? Buffer.alloc(0))), absent: Uint32Array.from(absent) };
  }

  scan(keyspace, { start, afterStart, end }, direction, maxItems, maxBytes) {
    const lower = start.length > 0 ? start : undefined;
    // LMDB walks from `start` to `end`, whichever of them is the greater.
    const range = direction === 'forward'
      ? { start: lower, exclusiveStart: afterStart, end }
      : { reverse: true, start: end, exclusiveStart: true, end: lower, inclusiveEnd: !afterStart };
    const records = this.#records(keyspace).getRange({ ...range, transaction: this.#open().snapshot });
    const page = [];
    let size = 0;
    let more = false;
    for (const { key, value } of records) {
      more = page.length > 0 && (page.length >= 2 * maxItems || size >= maxBytes);
      if (more) break;
      page.push(key, value);
      size += key.length + value.length;
    }
    return { records: join(page), more };
  }

  revisions(lockKeys) {
    this.#latest();
    return BigUint64Array.from(split(lockKeys), (key) => BigInt(this.#count(stripe(key))));
  }

  commit(batch, changed) {
    const transaction = this.#open();
    try {
      const operations = [...this.#operations(batch)];
      if (operations.length > 0 && transaction.scope === 'read') throw new Failure('read-only');
      // LMDB has one writer at a time, in all processes: what is checked here still holds when the batch is written.
      this.#root.transactionSync(() => this.#write(transaction, operations, changed));
    } catch (error) {
      if (error instanceof Failure) throw error;
      this.#isInDoubt = true;
      throw new Failure('unknown-outcome', String(error));
    } finally {
      this.rollback();
    }
  }

  rollback() {
    this.#transaction?.snapshot.done();
    this.#transaction = null;
  }

  /** All records, for those who want to look: [keyspace, key, value]. */
  *all() {
    for (const { name, records } of this.#keyspaces) {
      for (const { key, value } of records.getRange()) yield [name, key, value];
    }
  }

  async close() {
    await this.#root.close();
  }

  #write({ scope, lockKeys, relied, counts }, operations, changed) {
    if (relied.some((counter, position) => this.#count(counter) !== counts[position])) throw new Failure('conflict');
    for (const { kind, records, a, b } of operations) {
      if (kind === PUT) records.putSync(a, b);
      else if (kind === DELETE) records.removeSync(a);
      else {
        const range = { start: a.length > 0 ? a : undefined, end: b.length > 0 ? b : undefined };
        for (const key of [...records.getKeys(range)]) records.removeSync(key);
      }
    }
    const counted = new Set([COMMITS, ...(scope === 'exclusive' ? [EPOCH] : []), ...[...changed].map((position) => stripe(lockKeys[position]))]);
    for (const counter of counted) this.#revisions.putSync(counter, this.#count(counter) + 1);
  }

  *#operations(batch) {
    const view = new DataView(batch.buffer, batch.byteOffset, batch.byteLength);
    for (let at = 0; at < batch.length;) {
      const [keyspace, aLength, bLength] = [1, 5, 9].map((offset) => view.getUint32(at + offset, true));
      const kind = batch[at];
      const middle = at + HEADER_BYTES + aLength;
      const [a, b] = [batch.subarray(at + HEADER_BYTES, middle), batch.subarray(middle, middle + bLength)];
      if (kind !== DELETE_RANGE) {
        if (aLength === 0) throw new Failure('io', 'the empty key is not allowed');
        if (aLength > MAX_KEY_BYTES) throw tooLarge('a key', MAX_KEY_BYTES);
        if (bLength > MAX_VALUE_BYTES) throw tooLarge('a value', MAX_VALUE_BYTES);
      }
      yield { kind, records: this.#records(keyspace), a, b };
      at = middle + bLength;
    }
  }

  #open() {
    if (!this.#transaction) throw new Failure('io', 'no transaction is open');
    return this.#transaction;
  }

  /** Without the reset, lmdb shows the state of an earlier read, and nothing of what other processes have written since. */
  #latest() {
    this.#root.resetReadTxn();
    return this.#root;
  }

  #records(keyspace) {
    const opened = this.#keyspaces[keyspace];
    if (!opened) throw new Failure('io', 'the keyspace is not open');
    return opened.records;
  }

  #count(counter, transaction) {
    return this.#revisions.get(counter, { transaction }) ?? 0;
  }
}

const stripe = (lockKey) => crc32(lockKey) % STRIPES;

const tooLarge = (what, limit) => new Failure('too-large', { what, limit: BigInt(limit) });

/** Lists of byte strings cross the boundary as one buffer and the ends of the strings. */
export function split({ bytes, ends }) {
  return Array.from(ends, (end, position) => bytes.subarray(position > 0 ? ends[position - 1] : 0, end));
}

export function join(strings) {
  let end = 0;
  const ends = Uint32Array.from(strings, (string) => (end += string.length));
  return { bytes: Buffer.concat(strings), ends };
}

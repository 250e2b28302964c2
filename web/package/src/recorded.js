// A store that counts its commits, and tells a listener what it was asked.

/** Around an `IndexedDbStore`. */
export class RecordedStore {
  /** How many batches were written. */
  commits = 0;
  /** Hears what the engine asks for, if there is somebody: a function of the event's kind and its data. */
  listener = null;
  #store;
  #names = [];

  constructor(store) {
    this.#store = store;
    this.#names = store.keyspaces;
  }

  getLimits() {
    return this.#store.getLimits();
  }

  async openKeyspace(name, order) {
    const number = await this.#store.openKeyspace(name, order);
    this.#names = this.#store.keyspaces;
    return number;
  }

  begin(scope) {
    return this.#store.begin(scope);
  }

  async get(keyspace, key) {
    const value = await this.#store.get(keyspace, key);
    this.listener?.('reads', { keyspace: this.#names[keyspace], key, found: value !== undefined });
    return value;
  }

  async getMany(keyspaces, keys) {
    const found = await this.#store.getMany(keyspaces, keys);
    if (this.listener) {
      const absent = new Set(found.absent);
      split(keys).forEach((key, position) => {
        this.listener('reads', { keyspace: this.#names[keyspaces[position]], key, found: !absent.has(position) });
      });
    }
    return found;
  }

  async scan(keyspace, range, direction, maxItems, maxBytes) {
    const page = await this.#store.scan(keyspace, range, direction, maxItems, maxBytes);
    const { start, end } = range;
    this.listener?.('scans', { keyspace: this.#names[keyspace], start, end, direction, keys: split(page.records).filter((_, position) => position % 2 === 0) });
    return page;
  }

  revisions(keys) {
    return this.#store.revisions(keys);
  }

  async commit(batch, changed) {
    await this.#store.commit(batch, changed);
    if (batch.length > 0) this.commits += 1;
    if (this.listener) for (const [kind, operation] of operations(batch, this.#names)) this.listener(kind, operation);
  }

  rollback() {
    this.#store.rollback();
  }

  /** A page of the raw records of all keyspaces, from `after` on; `next` is undefined behind the last one. */
  async records(after = { keyspace: 0, start: new Uint8Array(0), afterStart: false }) {
    this.#store.begin({ tag: 'read' });
    try {
      const { keyspace, start, afterStart } = after;
      const page = await this.#store.scan(keyspace, { start, afterStart, end: undefined }, 'forward', 1000, 1 << 20);
      const pieces = split(page.records);
      const records = [];
      for (let at = 0; at < pieces.length; at += 2) records.push({ keyspace: this.#names[keyspace], key: pieces[at], value: pieces[at + 1] });
      if (page.more) return { records, next: { keyspace, start: records.at(-1).key, afterStart: true } };
      const isLast = keyspace + 1 >= this.#names.length;
      return { records, next: isLast ? undefined : { keyspace: keyspace + 1, start: new Uint8Array(0), afterStart: false } };
    } finally {
      this.#store.rollback();
    }
  }
}

/** The byte strings of `pieces`. */
function split({ bytes, ends }) {
  return Array.from(ends, (end, position) => bytes.slice(position > 0 ? ends[position - 1] : 0, end));
}

/** An operation of a batch begins with its kind, its keyspace and the lengths of the two byte strings behind it. */
const HEADER_BYTES = 13;

/** The operations of a batch, as wit/kv/store.wit describes it. */
function* operations(batch, names) {
  const view = new DataView(batch.buffer, batch.byteOffset, batch.byteLength);
  for (let at = 0; at < batch.length;) {
    const [number, aLength, bLength] = [1, 5, 9].map((offset) => view.getUint32(at + offset, true));
    const middle = at + HEADER_BYTES + aLength;
    const [a, b] = [batch.slice(at + HEADER_BYTES, middle), batch.slice(middle, middle + bLength)];
    const keyspace = names[number];
    if (batch[at] === 1) yield ['puts', { keyspace, key: a, value: b }];
    else if (batch[at] === 2) yield ['deletes', { keyspace, key: a }];
    else yield ['ranges', { keyspace, start: a, end: b.length > 0 ? b : undefined }];
    at = middle + bLength;
  }
}

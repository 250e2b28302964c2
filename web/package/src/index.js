// Orbweaver in a page or a worker.

import { Connection } from './connection.js';
import { Link, TypedError } from './link.js';
import * as names from './names.js';
import { ReplyError, concat } from './resp.js';

export { ReplyError, TypedError };

/** Opens a database, and creates it where there is none. */
export async function open(options) {
  demand(typeof WebAssembly === 'object' && 'Suspending' in WebAssembly, NO_JSPI);
  demand(globalThis.navigator?.locks && globalThis.BroadcastChannel, NO_LOCKS);
  const { name, layout, durability, databases } = options ?? {};
  if (typeof name !== 'string' || name === '') throw new TypeError('open needs the name of a database');
  if (![undefined, 'relaxed', 'strict'].includes(durability)) throw new TypeError("the durability is 'relaxed' or 'strict'");
  return new Orbweaver(await Link.open({ name, layout, durability, databases }));
}

const NO_JSPI = 'This browser cannot run Orbweaver: it lacks WebAssembly.Suspending (JavaScript Promise Integration), which Chrome and '
  + 'Edge have since version 137. Please use a current version of a browser.';
const NO_LOCKS = 'This page cannot use Orbweaver: the browser offers Web Locks only to pages that come over HTTPS or from localhost.';

function demand(condition, text) {
  if (!condition) throw new Error(text);
}

/** Deletes a database that no tab has open. */
export async function remove(name) {
  const removed = await navigator.locks.request(names.database(name), { ifAvailable: true }, (lock) => lock && names.erase(name));
  demand(removed !== null, `the database ${name} is open in this tab or another one: close it first`);
}

/** The names of the databases of this origin. */
export async function list() {
  const databases = await indexedDB.databases();
  return databases.map(({ name }) => names.nameOf(name)).filter((name) => name !== undefined).sort();
}

/** About how many records a step of the sweep, of a check or of an inspection looks at. */
const BUDGET = 1000;
/** Bytes of a step of a dump, and of a load. */
const CHUNK_BYTES = 1 << 18;

/** The typed interfaces of the component, by their names in JavaScript. */
const TYPED = ['strings', 'hashes', 'lists', 'sets', 'sortedSets', 'keys', 'batch'];

class Orbweaver {
  /** Hears whether this tab owns the database, whenever that is settled anew. */
  onownerchange = () => {};
  #link;
  #shared = null;
  #listeners = new Set();
  #subscriptions = new Set();

  constructor(link) {
    this.#link = link;
    for (const name of TYPED) this[name] = typed(link, name);
    link.ontrace = (event) => this.#listeners.forEach((on) => on(event));
    link.onready = (owner) => {
      if (this.#listeners.size > 0) link.call('trace', true).catch(() => {});
      // One that fails is lost with the owner that it was asked of, and started again for the next.
      for (const subscription of this.#subscriptions) subscription.start().catch(() => {});
      this.onownerchange(owner);
    };
  }

  get owner() {
    return this.#link.isOwner;
  }

  async command(...args) {
    const [words, options] = withOptions(args);
    return result(await this.#connection().send([words], options)[0]);
  }

  async pipeline(commands, options) {
    const replies = await Promise.all(this.#connection().send(commands, options));
    return replies.map(({ value }) => value);
  }

  async transaction(commands, options) {
    const replies = await Promise.all(this.#connection().send([['MULTI'], ...commands, ['EXEC']], options));
    return result(replies.at(-1));
  }

  async session({ protocol = 3 } = {}) {
    const session = new Session(new Connection(this.#link));
    if (protocol === 3) await session.command('HELLO', 3);
    return session;
  }

  async subscribe(channels, on, { patterns = false } = {}) {
    const subscription = new Subscription(() => this.session(), patterns ? 'PSUBSCRIBE' : 'SUBSCRIBE', channels, on);
    await subscription.start();
    this.#subscriptions.add(subscription);
    return async () => {
      this.#subscriptions.delete(subscription);
      subscription.stop();
    };
  }

  async commands() {
    const [rows, docs] = await this.pipeline([['COMMAND'], ['COMMAND', 'DOCS']]);
    return rows.map(([name, arity, flags, firstKey, lastKey, step]) => {
      const entry = docs.get(name) ?? new Map();
      const doc = (field) => entry.get(field);
      return {
        name, arity, flags: [...flags], firstKey, lastKey, step,
        summary: doc('summary') ?? '', group: doc('group') ?? '', since: doc('since') ?? '',
        subcommands: Array.from(doc('subcommands') ?? [], ([both, of]) => ({ name: both.replace('|', ' '), summary: of.get('summary') ?? '' })),
      };
    });
  }

  inspect(db, key, cursor, budget = BUDGET) {
    return this.#link.call('inspect', db, bytesOf(key), cursor, budget);
  }

  describe(keyspace, key, value) {
    return this.#link.call('describe', keyspace, key, value);
  }

  trace(on) {
    this.#listeners.add(on);
    if (this.#listeners.size === 1) this.#link.call('trace', true).catch(() => {});
    return () => {
      this.#listeners.delete(on);
      if (this.#listeners.size === 0) this.#link.call('trace', false).catch(() => {});
    };
  }

  async* dump(on = () => {}) {
    let bytes = 0;
    for (let start; ;) {
      const { lines, next } = await this.#link.call('dump', start, CHUNK_BYTES);
      bytes += lines.length;
      on({ bytes });
      if (lines.length > 0) yield lines;
      if (next === undefined) return;
      start = next;
    }
  }

  async load(lines, { on = () => {}, signal } = {}) {
    const loaded = { keys: 0n, expired: 0n };
    const [total, stream] = lines instanceof Blob ? [lines.size, blobChunks(lines)] : [undefined, lines];
    let [bytes, before] = [0, 0];
    for await (const whole of wholeLines(stream)) {
      signal?.throwIfAborted();
      const { keys, expired } = await this.#link.call('load', whole).catch((error) => { throw lineOf(error, before); });
      loaded.keys += keys;
      loaded.expired += expired;
      bytes += whole.length;
      before += countLines(whole);
      on({ bytes, total, keys: loaded.keys });
    }
    return loaded;
  }

  sweep(budget = BUDGET) {
    return this.#link.call('sweep', budget);
  }

  async* check(on = () => {}) {
    for (let start; ;) {
      const { found, next } = await this.#link.call('check', start, BUDGET);
      on({ found: found.length });
      yield* found;
      if (next === undefined) return;
      start = next;
    }
  }

  async* records() {
    for (let after; ;) {
      const { records, next } = await this.#link.call('records', after);
      yield* records;
      if (next === undefined) return;
      after = next;
    }
  }

  async storage() {
    const { usage = 0, quota = 0 } = await navigator.storage.estimate();
    return { usage, quota, persisted: await navigator.storage.persisted() };
  }

  async persist() {
    return navigator.storage.persist?.() ?? false;
  }

  close() {
    return this.#link.close();
  }

  /** The connection that commands share, opened anew where it was lost. */
  #connection() {
    if (!this.#shared?.isOpen) {
      this.#shared = new Connection(this.#link);
      this.#shared.send([['HELLO', 3]])[0].catch(() => {});
    }
    return this.#shared;
  }
}

class Session {
  #connection;

  constructor(connection) {
    this.#connection = connection;
  }

  set onpush(on) {
    this.#connection.onpush = on;
  }

  set onclose(on) {
    this.#connection.onclose = on;
  }

  async command(...args) {
    const [words, options] = withOptions(args);
    return result(await this.#connection.send([words], options)[0]);
  }

  async pipeline(commands, options) {
    const replies = await Promise.all(this.#connection.send(commands, options));
    return replies.map(({ value }) => value);
  }

  async raw(request) {
    const { bytes } = await this.#connection.write(request, [undefined])[0];
    return bytes.slice();
  }

  close() {
    this.#connection.close();
  }
}

/** Messages of channels, also when another tab has come to own the database. */
class Subscription {
  #open;
  #verb;
  #channels;
  #on;
  #session = null;

  constructor(open, verb, channels, on) {
    this.#open = open;
    this.#verb = verb;
    this.#channels = channels;
    this.#on = on;
  }

  async start() {
    const session = await this.#open();
    this.#session = session;
    session.onpush = ([kind, ...rest]) => {
      if (kind === 'message' || kind === 'pmessage') this.#on(rest.at(-2), rest.at(-1));
    };
    await session.command(this.#verb, ...this.#channels);
  }

  stop() {
    this.#session.close();
  }
}

/** An interface whose functions are called in the owner's worker. */
function typed(link, name) {
  // Awaiting the interface itself asks whether it is a promise.
  return new Proxy({}, { get: (_, method) => (method === 'then' ? undefined : (...args) => link.call('typed', name, method, args)) });
}

/** The words of a command, and the options that may follow them. */
function withOptions(args) {
  const last = args.at(-1);
  const isOptions = typeof last === 'object' && last !== null && Object.getPrototypeOf(last) === Object.prototype;
  return isOptions ? [args.slice(0, -1), last] : [args, {}];
}

function result({ value }) {
  if (value instanceof ReplyError) throw value;
  return value;
}

function bytesOf(key) {
  return key instanceof Uint8Array ? key : new TextEncoder().encode(String(key));
}

async function* blobChunks(blob) {
  for (let at = 0; at < blob.size; at += CHUNK_BYTES) yield new Uint8Array(await blob.slice(at, at + CHUNK_BYTES).arrayBuffer());
}

const LF = 10;

/** Chunks that end where lines end, but for the last one. */
async function* wholeLines(chunks) {
  let rest = [];
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(LF) + 1;
    if (end > 0) {
      yield concat([...rest, chunk.subarray(0, end)]);
      rest = [];
    }
    if (end < chunk.length) rest.push(chunk.subarray(end));
  }
  if (rest.length > 0) yield concat(rest);
}

function countLines(bytes) {
  return bytes.reduce((lines, byte) => lines + (byte === LF ? 1 : 0), 0);
}

/** The engine counts the lines of a call; people count those of a file. */
function lineOf(error, before) {
  return new Error(error.message.replace(/\bline (\d+)/, (_, number) => `line ${Number(number) + before}`));
}

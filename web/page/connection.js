// A connection to the engine: arguments in, one reply out; messages of channels apart.

import { ReplyError } from 'orbweaver';
import { encode } from 'orbweaver/resp.js';
import { text, utf8 } from './bytes.js';
import { decode } from './resp.js';

/** @typedef {import('./resp.js').Node} Node */
/** @typedef {import('orbweaver').Argument} Arg */

const SUBSCRIBES = /^[ps]?(un)?subscribe$/i;

export class Connection {
  /** Gets messages of channels. @type {(message: Node) => void} */
  onmessage = () => {};
  /** Hears why the connection was lost. The next command opens another one. @type {(reason: string) => void} */
  onlost = () => {};
  /** How many channels and patterns it listens to. */
  subscriptions = 0;
  /** By which CLIENT knows it. @type {unknown} */
  id = 0;
  #database;
  /** @type {Promise<import('orbweaver').Session> | null} */
  #session = null;
  #db = 0;

  /** @param {import('orbweaver').Orbweaver} database */
  constructor(database) {
    this.#database = database;
  }

  get db() {
    return this.#db;
  }

  /** @param {number} db */
  async select(db) {
    await this.ask('SELECT', db);
    this.#db = db;
  }

  /** Notes that a SELECT has gone well. @param {number} db */
  selected(db) {
    this.#db = db;
  }

  /** The reply with its types. @param {Uint8Array[]} args @returns {Promise<Node>} */
  async send(args) {
    if (SUBSCRIBES.test(text(args[0]) ?? '')) return this.#subscribe(args);
    const session = await this.#opened();
    return decode(await session.raw(encode([args])));
  }

  /** The reply as a value; strings as bytes, a status as text. Throws `ReplyError`. @param {...Arg} args @returns {Promise<any>} */
  async ask(...args) {
    const session = await this.#opened();
    return session.command(...args, { binary: true });
  }

  /** As `ask`, of many commands in one piece; what is refused is null. @param {Arg[][]} commands @returns {Promise<any[]>} */
  async askAll(commands) {
    if (commands.length === 0) return [];
    const session = await this.#opened();
    const replies = await session.pipeline(commands, { binary: true });
    return replies.map((reply) => (reply instanceof ReplyError ? null : reply));
  }

  /** A channel at a time: each is confirmed by a message of its own. @param {Uint8Array[]} args @returns {Promise<Node>} */
  async #subscribe([name, ...channels]) {
    /** @type {Node} */
    let last = { kind: 'nil' };
    const session = await this.#opened();
    for (const [position, words] of (channels.length > 0 ? channels.map((channel) => [name, channel]) : [[name]]).entries()) {
      if (position > 0) this.onmessage(last);
      try {
        last = this.#counted(node(await session.command(text(words[0]) ?? '', ...words.slice(1))));
      } catch (error) {
        if (!(error instanceof ReplyError)) throw error;
        return { kind: 'error', text: error.message };
      }
    }
    return last;
  }

  #opened() {
    this.#session ??= this.#open();
    return this.#session;
  }

  /** In the protocol that redis-cli begins with. */
  async #open() {
    const session = await this.#database.session({ protocol: 2 });
    session.onpush = (value) => this.onmessage(this.#counted(node(value)));
    session.onclose = (reason) => {
      this.#session = null;
      this.subscriptions = 0;
      this.onlost(reason);
    };
    this.id = await session.command('CLIENT', 'ID');
    if (this.#db !== 0) await session.command('SELECT', this.#db);
    return session;
  }

  /** Notes how many subscriptions a confirmation tells of. @param {Node} message */
  #counted(message) {
    const [name, , count] = 'items' in message ? message.items : [];
    if (name?.kind === 'string' && SUBSCRIBES.test(text(name.bytes) ?? '') && count?.kind === 'number') this.subscriptions = Number(count.text);
    return message;
  }
}

/** A message, as a terminal shows it. @param {unknown} value @returns {Node} */
function node(value) {
  if (Array.isArray(value)) return { kind: 'push', items: value.map(node) };
  if (value === null || value === undefined) return { kind: 'nil' };
  if (typeof value === 'number' || typeof value === 'bigint') return { kind: 'number', text: String(value) };
  return { kind: 'string', bytes: value instanceof Uint8Array ? value : utf8(String(value)) };
}

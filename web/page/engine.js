// The database of the page: connections, and what each command reads and writes.

import { open } from 'orbweaver';
import { equal, hex, text } from './bytes.js';
import { Connection } from './connection.js';

/** @typedef {import('./resp.js').Node} Node */
/** @typedef {import('orbweaver').TraceEvent} TraceEvent */
/** @typedef {import('orbweaver').InspectedRecord} InspectedRecord */
/** @typedef {import('orbweaver').CommandInfo} CommandInfo */

/**
 * @typedef {object} Ran A command that a person has run.
 * @property {Uint8Array[]} args
 * @property {number} db
 * @property {Node} reply
 * @property {Uint8Array | null} key The first key that it names.
 * @property {InspectedRecord[]} before The first records of that key, as they were.
 * @property {boolean} isWhole These were all.
 * @property {TraceEvent[]} traced
 * @property {number} ms
 */

const NAME = 'orbweaver-page';
/** How many records of a key are shown at once. */
export const PAGE = 60;
// A command that has not answered by then waits for others (BLPOP): they may go on.
const BLOCKS_AFTER_MS = 400;

export class Engine extends EventTarget {
  /** The db that is looked at. */
  db = 0;
  /** @type {Uint8Array | null} */
  selected = null;
  /** @type {CommandInfo[]} */
  commands = [];
  #turn = Promise.resolve();

  /** @param {import('orbweaver').Orbweaver} database */
  constructor(database) {
    super();
    this.database = database;
    /** For what the page itself looks at and does. */
    this.browse = new Connection(database);
  }

  /** Fails with a text for people. */
  static async open() {
    const database = await open({ name: NAME });
    const engine = new Engine(database);
    engine.commands = (await database.commands()).sort((a, b) => (a.name < b.name ? -1 : 1));
    return engine;
  }

  /** @param {number} db */
  async select(db) {
    if (db === this.db) return;
    await this.browse.select(db);
    this.db = db;
    this.selected = null;
    this.dispatchEvent(new Event('db'));
  }

  /** @param {Uint8Array | null} key */
  choose(key) {
    this.selected = key;
    this.dispatchEvent(new Event('selected'));
  }

  /** Tells that data may have changed in a way that no single command shows. */
  changed() {
    this.dispatchEvent(new Event('changed'));
  }

  /** Runs what reads, apart from commands that are traced. @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  read(work) {
    const turn = this.#turn.then(work);
    this.#turn = settled(turn);
    return turn;
  }

  /** Runs a command of a person and tells of it: event `ran`. @param {Uint8Array[]} args @param {Connection} connection */
  async run(args, connection = this.browse) {
    const before = this.#turn;
    /** @type {() => void} */
    let done = () => {};
    this.#turn = new Promise((resolve) => (done = resolve));
    await before;
    try {
      return await this.#trace(args, connection, done);
    } finally {
      done();
    }
  }

  /** @param {Uint8Array[]} args @param {Connection} connection @param {() => void} release */
  async #trace(args, connection, release) {
    const { db } = this;
    const key = this.#firstKey(args);
    const before = key ? await this.database.inspect(db, key, undefined, PAGE) : { records: [], next: new Uint8Array() };
    /** @type {TraceEvent[]} */
    const traced = [];
    const stop = this.database.trace((event) => traced.push(event));
    let isAlone = true;
    const blocks = setTimeout(() => {
      isAlone = false;
      release();
    }, BLOCKS_AFTER_MS);
    const start = performance.now();
    try {
      const reply = await connection.send(args);
      const ms = performance.now() - start;
      // What the page itself has done meanwhile only reads.
      const own = isAlone ? traced : traced.filter(writes);
      const ran = { args, db, reply, key, before: before.records, isWhole: before.next === undefined, traced: own, ms };
      release();
      this.dispatchEvent(new CustomEvent('ran', { detail: ran }));
      return reply;
    } finally {
      clearTimeout(blocks);
      stop();
    }
  }

  /** @param {Uint8Array[]} args */
  #firstKey(args) {
    const name = text(args[0])?.toLowerCase();
    const first = this.commands.find((command) => command.name === name)?.firstKey ?? 0;
    return first > 0 ? (args[first] ?? null) : null;
  }
}

/** Whether a step of the engine changed anything. @param {TraceEvent} event */
export const writes = ({ puts, deletes, ranges }) => puts.length + deletes.length + ranges.length > 0;

/** Names a record among all of the store. @param {{ keyspace: string, key: Uint8Array }} record */
export const identity = ({ keyspace, key }) => `${keyspace} ${hex(key)}`;

/** @param {Uint8Array | null} a @param {Uint8Array | null} b */
export const sameKey = (a, b) => a !== null && b !== null && equal(a, b);

/** @param {Promise<unknown>} promise @returns {Promise<void>} */
const settled = (promise) => promise.then(() => {}, () => {});

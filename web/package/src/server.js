// The server in the worker that owns a database: one engine on one store, connections of all tabs, one call after the other.

import { concat } from './resp.js';

/** What an answer needs where its connection waits in a blocking command. */
const WAITS = 2n ** 64n - 1n;
/** How much of a connection's input one call is given, unless a single request is longer. */
const INPUT_BYTES = 1 << 18;

/** Why a call was not made. */
export class Refusal extends Error {}

/** A client's connection, as the server knows it. */
class Connection {
  input = new Uint8Array(0);
  needed = 0n;
  state = undefined;
  /** Whether the engine knows of it. */
  isAnnounced = false;

  constructor(id, address, deliver) {
    this.id = id;
    this.address = address;
    this.deliver = deliver;
  }

  get isReady() {
    return this.isAnnounced && this.needed !== WAITS && this.input.length > 0 && BigInt(this.input.length) >= this.needed;
  }

  /** What the next call is given. */
  get delivery() {
    return this.input.subarray(0, Math.max(INPUT_BYTES, Number(this.needed)));
  }

  consume(bytes) {
    this.input = this.input.subarray(bytes);
  }
}

export class Server {
  #make;
  #store;
  #engine;
  #panic = null;
  #connections = new Map();
  #byId = new Map();
  #nextId = 1n;
  #calls = [];
  #isRunning = false;
  /** Who waits for the end of the work. */
  #idle = [];
  #wake;
  #wakeIsDue = false;
  #onTrace = null;

  /**
   * A server on a store. `make(store, panicked)` makes an instance of the engine; it is called again after a trap. The store
   * is one that counts its `commits`.
   */
  static async start(store, make) {
    const server = new Server();
    server.#store = store;
    server.#make = make;
    server.#engine = await server.#instance();
    return server;
  }

  /** Announces a connection under a name of the caller's choice. `deliver` gets `{ bytes }` and, last, `{ closed: reason }`. */
  connect(name, address, deliver) {
    const connection = new Connection(this.#nextId++, address, deliver);
    this.#connections.set(name, connection);
    this.#byId.set(connection.id, connection);
    const announce = async () => {
      await this.#engine.resp.connect(connection.id, address, undefined);
      connection.isAnnounced = true;
    };
    this.#inTurn(announce).catch((error) => this.#drop(connection, error.message));
  }

  /** Bytes from a connection. */
  send(name, bytes) {
    const connection = this.#connections.get(name);
    if (!connection) return false;
    connection.input = connection.input.length === 0 ? bytes : concat([connection.input, bytes]);
    this.#run();
    return true;
  }

  /** Forgets a connection. */
  disconnect(name) {
    const connection = this.#connections.get(name);
    if (!connection) return;
    this.#forget(connection);
    this.#inTurn(() => this.#engine.resp.disconnect(connection.id)).catch(() => {});
  }

  /** Tells `on` of what each call reads and writes, or nobody where it is null. */
  trace(on) {
    this.#onTrace = on;
  }

  /** Runs `work(engine, store)` when it is its turn. */
  call(work) {
    return this.#inTurn(() => work(this.#engine, this.#store));
  }

  /** Resolves when everything that was asked for so far is done. */
  async drain() {
    if (this.#isRunning) await new Promise((resolve) => this.#idle.push(resolve));
  }

  #inTurn(work) {
    return new Promise((resolve, reject) => {
      this.#calls.push({ work, resolve, reject });
      this.#run();
    });
  }

  async #run() {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      while (this.#calls.length > 0 || this.#wakeIsDue || this.#ready().length > 0) {
        const call = this.#calls.shift();
        if (call) await this.#answer(call);
        const ready = this.#ready();
        if (ready.length > 0 || this.#wakeIsDue) await this.#exchange(ready);
      }
    } catch (error) {
      // No new instance can be made: nothing can be said of what is under way.
      for (const connection of [...this.#byId.values()]) this.#drop(connection, error.message);
      for (const { reject } of this.#calls.splice(0)) reject(error);
    } finally {
      this.#isRunning = false;
      for (const resolve of this.#idle.splice(0)) resolve();
    }
  }

  #ready() {
    return [...this.#byId.values()].filter((connection) => connection.isReady);
  }

  async #answer({ work, resolve, reject }) {
    try {
      resolve(await work());
      // What was pushed, published or expired may concern connections: the next exchange tells them.
      this.#wakeIsDue = this.#byId.size > 0;
    } catch (error) {
      if (isNoTrap(error)) return reject(error);
      try {
        reject(new Error(await this.#replace(error)));
      } catch (hopeless) {
        reject(hopeless);
        throw hopeless;
      }
    }
  }

  /** Gives the engine what is there of these connections, and their clients the replies. */
  async #exchange(connections) {
    this.#wakeIsDue = false;
    const commits = this.#store.commits;
    const pieces = connections.map((connection) => connection.delivery);
    let end = 0;
    const deliveries = connections.map(({ id }, position) => ({ connection: id, end: (end += pieces[position].length) }));
    let outcome;
    try {
      outcome = await this.#traced(deliveries.length > 0, () => this.#engine.resp.exchange(concat(pieces), deliveries));
    } catch (trap) {
      const text = await this.#replace(trap);
      // Nothing was written: each runs again on its own, and the one that is to blame is found.
      if (this.#store.commits === commits && connections.length > 1) {
        for (const connection of connections) if (this.#byId.has(connection.id)) await this.#exchange([connection]);
        return;
      }
      for (const connection of connections) {
        connection.deliver({ bytes: new TextEncoder().encode(`-ERR internal: ${text}\r\n`) });
        this.#drop(connection, 'the engine was lost while it ran a command, and was started anew');
        await this.#engine.resp.disconnect(connection.id);
      }
      return;
    }
    await this.#distribute(outcome, connections.length);
    clearTimeout(this.#wake);
    if (outcome.wakeAfterMs !== undefined) this.#wake = setTimeout(() => this.#wakeUp(), Number(outcome.wakeAfterMs));
  }

  async #traced(isAsked, work) {
    const on = this.#onTrace;
    if (!on) return work();
    const event = { reads: [], scans: [], puts: [], deletes: [], ranges: [], ms: 0 };
    const start = performance.now();
    this.#store.listener = (kind, data) => event[kind].push(data);
    try {
      return await work();
    } finally {
      this.#store.listener = null;
      event.ms = performance.now() - start;
      if (isAsked || Object.values(event).some((list) => list.length > 0)) on(event);
    }
  }

  async #distribute({ answers, output, shutdown }, delivered) {
    let start = 0;
    for (const [position, answer] of answers.entries()) {
      const bytes = output.slice(start, answer.end);
      start = answer.end;
      const connection = this.#byId.get(answer.connection);
      if (!connection) continue;
      // A message alone says nothing of the input of a connection that delivered nothing.
      if (position < delivered || answer.consumed > 0) {
        connection.consume(answer.consumed);
        connection.needed = answer.needed;
      }
      if (answer.state !== undefined) connection.state = answer.state;
      if (bytes.length > 0) connection.deliver({ bytes });
      if (answer.close || shutdown) {
        this.#drop(connection, shutdown ? 'SHUTDOWN closes every connection' : 'the engine closed the connection');
        await this.#engine.resp.disconnect(connection.id);
      }
    }
  }

  #wakeUp() {
    this.#wakeIsDue = true;
    this.#run();
  }

  #forget(connection) {
    this.#byId.delete(connection.id);
    for (const [name, known] of this.#connections) if (known === connection) this.#connections.delete(name);
  }

  #drop(connection, reason) {
    this.#forget(connection);
    connection.deliver({ closed: reason });
  }

  /** Replaces an instance that has trapped; connections go on, but for what they were waiting for. Returns the text of the trap. */
  async #replace(trap) {
    const text = (this.#panic ?? String(trap.message ?? trap)).replaceAll(/[\r\n]+/g, ' ');
    this.#store.rollback();
    this.#engine = await this.#instance();
    for (const connection of this.#byId.values()) {
      await this.#engine.resp.connect(connection.id, connection.address, connection.state);
      connection.needed = 0n;
      connection.isAnnounced = true;
    }
    return text;
  }

  async #instance() {
    this.#panic = null;
    return this.#make(this.#store, (text) => { this.#panic = text; });
  }
}

/** Whether an error is a result of the component (`result<_, E>`), or says that it was not asked, and is no trap. */
function isNoTrap(error) {
  return error instanceof Refusal || Object.hasOwn(error, 'payload');
}

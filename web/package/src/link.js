// The page's end of the worker: messages to it, and from it to whom they concern.

/** Why requests fail whose owner is gone. */
const LOST = 'the tab that held the database was closed while this was under way: it may have been done, or not';

/** An error of a typed interface: `tag` is its case, such as `wrong-type`, and `val` what the case holds. */
export class TypedError extends Error {
  constructor({ tag, val }) {
    super(val === undefined ? tag : `${tag}: ${typeof val === 'string' ? val : JSON.stringify(val)}`);
    this.name = 'TypedError';
    this.tag = tag;
    this.val = val;
  }
}

export class Link {
  /** Hears whether this tab owns the database, whenever an owner is found. */
  onready = () => {};
  ontrace = () => {};
  isOwner = false;
  #worker;
  #connections = new Map();
  #calls = new Map();
  #next = 1;
  #left;
  #closed = null;

  /** Starts a worker, and resolves when the database is there, in this tab or in another one. */
  static async open(options) {
    const link = new Link();
    link.#worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module', name: `orbweaver ${options.name}` });
    await new Promise((resolve, reject) => {
      link.#worker.onmessage = ({ data }) => {
        if (data.type === 'ready') resolve();
        if (data.type === 'failed') reject(new Error(data.message));
        link.#hear(data);
      };
      link.#worker.onerror = (event) => {
        event.preventDefault();
        const text = `the worker of the database failed: ${event.message ?? 'its script cannot be loaded'}`;
        reject(new Error(text));
        link.#fail(text);
      };
      link.#worker.postMessage({ type: 'open', options });
    });
    return link;
  }

  /** Announces a connection; returns its number. */
  connect(connection) {
    const number = this.#next++;
    this.#connections.set(number, connection);
    this.#post({ type: 'connect', connection: number });
    return number;
  }

  send(number, bytes) {
    this.#post({ type: 'send', connection: number, bytes });
  }

  disconnect(number) {
    this.#connections.delete(number);
    this.#post({ type: 'disconnect', connection: number });
  }

  /** An operation of the owner. */
  call(name, ...args) {
    return new Promise((resolve, reject) => {
      const id = this.#next++;
      this.#calls.set(id, { resolve, reject });
      this.#post({ type: 'call', id, name, args });
    });
  }

  /** Lets the next tab own the database, when what has arrived is answered. */
  async close() {
    if (this.#closed !== null) return;
    const left = new Promise((resolve) => { this.#left = resolve; });
    this.#worker.postMessage({ type: 'leave' });
    await left;
    this.#fail('the database is closed');
  }

  #post(message) {
    if (this.#closed !== null) throw new Error(this.#closed);
    this.#worker.postMessage(message);
  }

  #hear({ type, ...message }) {
    const connection = this.#connections.get(message.connection);
    if (type === 'data') connection?.receive(message.bytes);
    else if (type === 'closed') {
      this.#connections.delete(message.connection);
      connection?.closed(message.reason);
    } else if (type === 'result') this.#settle(message);
    else if (type === 'trace') this.ontrace(message.event);
    else if (type === 'ready') {
      this.isOwner = message.owner;
      this.onready(message.owner);
    } else if (type === 'lost') this.#lose(LOST);
    else if (type === 'failed') this.#fail(message.message);
    else if (type === 'left') this.#left();
  }

  #settle({ id, value, error }) {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    if (error === undefined) call?.resolve(value);
    else call?.reject(typeof error === 'string' ? new Error(error) : new TypedError(error));
  }

  #lose(reason) {
    const connections = [...this.#connections.values()];
    const calls = [...this.#calls.values()];
    this.#connections.clear();
    this.#calls.clear();
    for (const connection of connections) connection.closed(reason);
    for (const { reject } of calls) reject(new Error(reason));
  }

  /** For good. */
  #fail(reason) {
    this.#closed = reason;
    this.#worker.terminate();
    this.#lose(reason);
  }
}

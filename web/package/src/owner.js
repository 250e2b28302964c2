// What the owner of a database does for all tabs.

import loadStore, { IndexedDbStore } from '../store/store.js';
import { KEYSPACES, makeEngine } from './engine.js';
import { RecordedStore } from './recorded.js';
import { Server } from './server.js';
import * as names from './names.js';
import * as operations from './operations.js';

export class Owner {
  #name;
  #deliver;
  #database;
  #store;
  #server;
  #isClosed = false;
  /** Tabs that have asked for something. */
  #tabs = new Map();

  /** Opens the database. `deliver(tab, message)` hands a tab what is for it. The caller holds the database's Web Lock. */
  static async open({ name, layout, durability = 'relaxed', databases }, deliver) {
    const owner = new Owner();
    owner.#name = name;
    owner.#deliver = deliver;
    await loadStore();
    const database = names.database(name);
    const isNew = !(await indexedDB.databases()).some((known) => known.name === database);
    owner.#database = await IndexedDbStore.open(database, durability, layout === undefined ? KEYSPACES : []);
    owner.#store = new RecordedStore(owner.#database);
    const settings = Object.entries({ layout, databases }).filter(([, value]) => value !== undefined).map(([key, value]) => [key, String(value)]);
    try {
      owner.#server = await Server.start(owner.#store, (store, panicked) => makeEngine(store, { settings, panicked }));
    } catch (error) {
      owner.#database.close();
      // Settings that the engine refuses leave no empty database behind.
      if (isNew) await names.erase(name);
      throw error;
    }
    return owner;
  }

  /** A request of a tab. */
  hear(tab, { type, connection, bytes, id, name, args }) {
    // Too late: the tab hears of the next owner, and that this was not answered.
    if (this.#isClosed) return;
    const known = this.#tab(tab);
    const local = `${tab} ${connection}`;
    if (type === 'connect') {
      known.connections.add(local);
      this.#server.connect(local, `tab:${tab}`, ({ bytes, closed }) => this.#reply(tab, local, connection, bytes, closed));
    } else if (type === 'send') {
      if (!this.#server.send(local, bytes)) this.#deliver(tab, { type: 'closed', connection, reason: 'the connection is not open' });
    } else if (type === 'disconnect') {
      known.connections.delete(local);
      this.#server.disconnect(local);
    } else if (type === 'call') this.#call(tab, id, name, args);
  }

  /** Answers what was asked so far, and closes the database. */
  async close() {
    await this.#server.drain();
    this.#isClosed = true;
    this.#database.close();
  }

  #tab(tab) {
    if (!this.#tabs.has(tab)) {
      this.#tabs.set(tab, { connections: new Set(), traces: false });
      // Granted when the tab is gone.
      navigator.locks.request(names.tab(this.#name, tab), () => this.#forget(tab));
    }
    return this.#tabs.get(tab);
  }

  #forget(tab) {
    const { connections } = this.#tabs.get(tab);
    this.#tabs.delete(tab);
    for (const local of connections) this.#server.disconnect(local);
    this.#trace();
  }

  #reply(tab, local, connection, bytes, closed) {
    if (bytes) this.#deliver(tab, { type: 'data', connection, bytes });
    if (closed === undefined) return;
    this.#tabs.get(tab)?.connections.delete(local);
    this.#deliver(tab, { type: 'closed', connection, reason: closed });
  }

  async #call(tab, id, name, args) {
    try {
      if (name === 'trace') {
        this.#tab(tab).traces = args[0];
        this.#trace();
        return this.#deliver(tab, { type: 'result', id });
      }
      const operation = operations[name];
      const value = await this.#server.call((engine, store) => operation(engine, store, ...args));
      this.#deliver(tab, { type: 'result', id, value });
    } catch (error) {
      this.#deliver(tab, { type: 'result', id, error: error.payload ?? error.message });
    }
  }

  /** Listens to the store while a tab wants to hear of it. */
  #trace() {
    const listeners = () => [...this.#tabs].filter(([, { traces }]) => traces).map(([tab]) => tab);
    if (listeners().length === 0) return this.#server.trace(null);
    this.#server.trace((event) => listeners().forEach((tab) => this.#deliver(tab, { type: 'trace', event })));
  }
}

// The work of the benchmark as one would write it for IndexedDB itself: objects with key paths, an index for the order of scores.

/** Opens the database `name`, new. */
export function open(name) {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => {
      const database = request.result;
      database.createObjectStore('strings');
      database.createObjectStore('fields', { keyPath: ['hash', 'field'] });
      database.createObjectStore('members', { keyPath: ['set', 'member'] }).createIndex('scores', ['set', 'score', 'member']);
    };
    request.onsuccess = () => resolve(new Plain(request.result));
    request.onerror = () => reject(request.error);
  });
}

class Plain {
  #database;

  constructor(database) {
    this.#database = database;
  }

  close() {
    this.#database.close();
  }

  set(pairs) {
    return this.#write('strings', (store) => { for (const [key, value] of pairs) store.put(value, key); });
  }

  get(keys) {
    return this.#read('strings', (store) => keys.map((key) => store.get(key)));
  }

  hset(hashes) {
    return this.#write('fields', (store) => {
      for (const [hash, fields] of hashes) for (const [field, value] of fields) store.put({ hash, field, value });
    });
  }

  /** The fields of each hash, as a Map. */
  async hgetall(hashes) {
    const found = await this.#read('fields', (store) => hashes.map((hash) => store.getAll(IDBKeyRange.bound([hash], [hash, []]))));
    return found.map((fields) => new Map(fields.map(({ field, value }) => [field, value])));
  }

  /** How many members each set has got that it had not. */
  zadd(sets) {
    const added = sets.map(() => 0);
    return this.#write('members', (store) => {
      sets.forEach(([set, members], position) => {
        for (const [member] of members) store.getKey([set, member]).onsuccess = ({ target }) => { added[position] += target.result === undefined ? 1 : 0; };
        for (const [member, score] of members) store.put({ set, member, score });
      });
      return added;
    });
  }

  /** The members of each set by their scores. */
  async zrange(sets) {
    const found = await this.#read('members', (store) => sets.map((set) => store.index('scores').getAll(IDBKeyRange.bound([set], [set, []]))));
    return found.map((members) => members.map(({ member, score }) => [member, score]));
  }

  #write(name, work) {
    return new Promise((resolve, reject) => {
      const transaction = this.#database.transaction(name, 'readwrite', { durability: 'relaxed' });
      const result = work(transaction.objectStore(name));
      transaction.oncomplete = () => resolve(result);
      transaction.onabort = () => reject(transaction.error);
    });
  }

  #read(name, work) {
    return new Promise((resolve, reject) => {
      const transaction = this.#database.transaction(name, 'readonly');
      const requests = work(transaction.objectStore(name));
      requests.at(-1).onsuccess = () => resolve(requests.map((request) => request.result));
      transaction.onabort = () => reject(transaction.error);
    });
  }
}

// What a database is called in the browser's own name spaces, and its end.

const PREFIX = 'orbweaver:';

/** The database of IndexedDB, and the Web Lock that its owner holds. */
export const database = (name) => PREFIX + name;

/** The name of an Orbweaver database; undefined for a database of somebody else. */
export const nameOf = (database) => (database.startsWith(PREFIX) ? database.slice(PREFIX.length) : undefined);

/** The channel on which owners announce themselves. */
export const announcements = (name) => `${PREFIX}${name}:owner`;

/** The channel on which a tab hears what is meant for it, and the Web Lock that it holds as long as it lives. */
export const tab = (name, id) => `${PREFIX}${name}:tab:${id}`;

/** Deletes a database. The caller holds its Web Lock, and nobody has it open. */
export function erase(name) {
  return new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase(database(name));
    request.onsuccess = () => resolve();
    request.onerror = () => reject(request.error);
  });
}

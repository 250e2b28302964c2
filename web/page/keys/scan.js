// Keys of the db, a page at a time, with what a list shows of them.

/** @typedef {import('../engine.js').Engine} Engine */

/**
 * @typedef {object} Key
 * @property {Uint8Array} name
 * @property {string} type As TYPE has it.
 * @property {number} size Bytes of a string, else elements.
 * @property {number | null} expiresAt Unix time in milliseconds.
 */

const STEP = 200;
const LENGTH = new Map([['string', 'STRLEN'], ['hash', 'HLEN'], ['list', 'LLEN'], ['set', 'SCARD'], ['zset', 'ZCARD']]);
const UNIT = new Map([['string', 'byte'], ['hash', 'field'], ['list', 'element'], ['set', 'member'], ['zset', 'member']]);

/**
 * One step of a walk over the keys that match; cursor '0' begins and ends it.
 * @param {Engine} engine @param {string} cursor @param {string} glob
 * @returns {Promise<{ cursor: string, keys: Key[] }>}
 */
export function step(engine, cursor, glob) {
  return engine.read(async () => {
    const [next, names] = await engine.browse.ask('SCAN', cursor, 'MATCH', glob, 'COUNT', STEP);
    return { cursor: new TextDecoder().decode(next), keys: await describe(engine, names) };
  });
}

/** What there is to tell of a key now; null where it is gone. @param {Engine} engine @param {Uint8Array} name */
export const one = (engine, name) => engine.read(async () => (await describe(engine, [name]))[0] ?? null);

/** How large a key is, in words. @param {Key} key */
export const sizeInWords = ({ type, size }) => `${size.toLocaleString('en-US')} ${UNIT.get(type) ?? 'element'}${size === 1 ? '' : 's'}`;

/** Those of the keys that are there. @param {Engine} engine @param {Uint8Array[]} names @returns {Promise<Key[]>} */
async function describe({ browse }, names) {
  const types = await browse.askAll(names.map((name) => ['TYPE', name]));
  const there = names.flatMap((name, position) => (LENGTH.has(types[position]) ? [{ name, type: types[position] }] : []));
  const facts = await browse.askAll(there.flatMap(({ name, type }) => [[LENGTH.get(type) ?? '', name], ['PEXPIRETIME', name]]));
  return there.map(({ name, type }, position) => {
    const expiresAt = facts[2 * position + 1];
    return { name, type, size: facts[2 * position] ?? 0, expiresAt: expiresAt > 0 ? expiresAt : null };
  });
}

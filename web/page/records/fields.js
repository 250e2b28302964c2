// The fields of records: a colour for each sort, and what it means.

/**
 * @typedef {object} Sort
 * @property {string} name
 * @property {string} meaning
 * @property {RegExp} fields Names of fields of this sort.
 */

/** The first that fits counts. @type {Sort[]} */
const SORTS = [
  { name: 'time', meaning: 'when a key or field expires', fields: /(^|[ _-])(ms|time|expire|expires|timestamp|ctime|etime)([ _-]|$)/ },
  { name: 'count', meaning: 'how many there are, or where', fields: /count|expiring|head|tail|index|length|size|^next|^number$|level|seq/ },
  { name: 'version', meaning: 'tells this collection from all others', fields: /^version$/ },
  { name: 'score', meaning: 'a score, as it is or so that bytes order it', fields: /score/ },
  { name: 'kind', meaning: 'what the record is', fields: /kind|type|^format|^layout|marker/ },
  { name: 'space', meaning: 'the db that the key is in', fields: /space|^db/ },
  { name: 'key', meaning: 'the name of the key', fields: /key|^name$/ },
  { name: 'member', meaning: 'a field of a hash, a member of a set', fields: /field|member/ },
  { name: 'value', meaning: 'what was stored', fields: /value|element|^string$|data/ },
  { name: 'other', meaning: 'flags, and room that is kept', fields: /./ },
];

/** The sort of a field. @param {string} field @returns {Sort} */
export const sortOf = (field) => SORTS.find(({ fields }) => fields.test(field)) ?? SORTS[SORTS.length - 1];

/** The sorts of these fields, in the order of the table. @param {Iterable<string>} fields */
export function sortsOf(fields) {
  const present = new Set(Array.from(fields, sortOf));
  return SORTS.filter((sort) => present.has(sort));
}

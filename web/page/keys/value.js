// The value of a key, by its type, a page at a time.

import { hex, plain, text } from '../bytes.js';
import { h } from '../dom.js';
import { explain } from '../status/errors.js';

/** @typedef {import('../engine.js').Engine} Engine */
/** @typedef {import('./scan.js').Key} Key */

const PAGE = 100;
const MOST_BYTES = 65_536;
const HEX_BYTES = 1024;
const LINE_BYTES = 16;

/**
 * @typedef {object} Table How a type is shown.
 * @property {string[]} heads
 * @property {(engine: Engine, key: Uint8Array, cursor: string, count: number) => Promise<{ rows: (string | Uint8Array)[][], cursor: string }>} page
 */

/** @type {Record<string, Table>} */
const TABLES = {
  hash: { heads: ['field', 'value'], page: scanned('HSCAN', 2) },
  set: { heads: ['member'], page: scanned('SSCAN', 1) },
  list: { heads: ['index', 'element'], page: ranged((key, from, count) => ['LRANGE', key, from, from + count - 1], 1, (at, [element]) => [String(at), element]) },
  zset: {
    heads: ['rank', 'member', 'score'],
    page: ranged((key, from, count) => ['ZRANGE', key, from, from + count - 1, 'WITHSCORES'], 2, (at, [member, score]) => [String(at), member, score]),
  },
};

/** @typedef {{ rows: number }} Extent How many rows of a table are asked for; whoever shows a key anew keeps it. */

/** @param {Engine} engine @param {Key} key @param {Extent} extent @returns {Promise<HTMLElement>} */
export async function show(engine, key, extent) {
  const table = TABLES[key.type];
  return table ? showTable(engine, key, table, extent) : showString(await engine.read(() => engine.browse.ask('GETRANGE', key.name, 0, MOST_BYTES - 1)), key.size);
}

/** @param {Engine} engine @param {Key} key @param {Table} table @param {Extent} extent */
async function showTable(engine, key, { heads, page }, extent) {
  const body = h('tbody');
  const more = h('button', { type: 'button', class: 'button quiet' }, 'More');
  let cursor = '0';
  const load = async () => {
    // Asked anew after each page: More may have been pressed in the table that this one replaces.
    do {
      const count = Math.max(PAGE, extent.rows - body.childElementCount);
      const next = await engine.read(() => page(engine, key.name, cursor, count));
      body.append(...next.rows.map((row) => h('tr', {}, row.map((cell) => h('td', {}, typeof cell === 'string' ? cell : plain(cell))))));
      ({ cursor } = next);
    } while (cursor !== '0' && body.childElementCount < extent.rows);
    more.hidden = cursor === '0';
  };
  more.addEventListener('click', () => {
    // They are on their way.
    if (extent.rows > body.childElementCount) return;
    extent.rows = body.childElementCount + PAGE;
    load().catch((error) => {
      extent.rows = body.childElementCount;
      more.before(h('p', { class: 'problem' }, explain(error)));
    });
  });
  await load();
  return h('div', { class: 'value' }, h('table', { class: `value-${key.type}` }, h('thead', {}, h('tr', {}, heads.map((head) => h('th', { scope: 'col' }, head)))), body), more);
}

/** @param {Uint8Array} bytes @param {number} size */
function showString(bytes, size) {
  const readable = text(bytes);
  const isText = readable !== null && !/[\p{Cc}--[\n\r\t]]/v.test(readable);
  const shown = isText ? readable : hexDump(bytes.subarray(0, HEX_BYTES));
  const left = size - (isText ? bytes.length : Math.min(bytes.length, HEX_BYTES));
  return h('div', { class: 'value' },
    h('pre', { class: isText ? 'value-text' : 'value-hex' }, shown),
    left > 0 && h('p', { class: 'note' }, `and ${left.toLocaleString('en-US')} bytes more`));
}

/** @param {Uint8Array} bytes */
function hexDump(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += LINE_BYTES) {
    const line = bytes.subarray(at, at + LINE_BYTES);
    const readable = Array.from(line, (byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '.')).join('');
    lines.push(`${at.toString(16).padStart(6, '0')}  ${(hex(line).match(/../g) ?? []).join(' ').padEnd(3 * LINE_BYTES - 1)}  ${readable}`);
  }
  return lines.join('\n');
}

/** Pages by a command of the SCAN family. @param {string} command @param {number} width @returns {Table['page']} */
function scanned(command, width) {
  return async ({ browse }, key, cursor, count) => {
    const [next, items] = await browse.ask(command, key, cursor, 'COUNT', count);
    return { rows: chunks(items, width), cursor: new TextDecoder().decode(next) };
  };
}

/**
 * Pages by position; the cursor is the next one.
 * @param {(key: Uint8Array, from: number, count: number) => import('orbweaver').Argument[]} command
 * @param {number} width @param {(at: number, items: Uint8Array[]) => (string | Uint8Array)[]} row
 * @returns {Table['page']}
 */
function ranged(command, width, row) {
  return async ({ browse }, key, cursor, count) => {
    const from = Number(cursor);
    const rows = chunks(await browse.ask(...command(key, from, count)), width);
    return { rows: rows.map((items, position) => row(from + position, items)), cursor: rows.length < count ? '0' : String(from + count) };
  };
}

/** @template T @param {T[]} items @param {number} width @returns {T[][]} */
const chunks = (items, width) => Array.from({ length: Math.ceil(items.length / width) }, (_, position) => items.slice(position * width, (position + 1) * width));

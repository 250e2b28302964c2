// Replies in redis-cli's notation, coloured by type.

import { quoted } from '../bytes.js';
import { h } from '../dom.js';

/** @typedef {import('../resp.js').Node} Node */
/** @typedef {(text: string, type?: string) => void} Out */
/** @typedef {{ left: number }} Room How many items are still shown. */

const EMPTY = { array: '(empty array)', set: '(empty set)', map: '(empty hash)', push: '(empty push)' };
const MARK = { array: ')', push: ')', set: '~', map: '#' };
// A page with more of them is of no use, and slow.
const MOST_ITEMS = 1000;
// Their text is for people: printed as it is.
const RAW = new Set(['info', 'client list', 'client info', 'memory doctor', 'lolwut']);

/**
 * Whether a command's reply is text for people.
 * @param {string[]} names The command's words, in lower case.
 */
export const isRaw = (names) => RAW.has(names[0]) || RAW.has(names.slice(0, 2).join(' '));

/** @param {Node} node @param {boolean} [raw] @returns {DocumentFragment} */
export function show(node, raw = false) {
  const fragment = document.createDocumentFragment();
  /** @type {Out} */
  const out = (text, type) => fragment.append(type ? h('span', { class: `reply-${type}` }, text) : text);
  if (raw && (node.kind === 'string' || node.kind === 'verbatim')) out(new TextDecoder().decode(node.bytes).replace(/\r\n/g, '\n').trimEnd());
  else write(node, '', out, { left: MOST_ITEMS });
  return fragment;
}

/** @param {Node} node @param {string} prefix @param {Out} out @param {Room} room */
function write(node, prefix, out, room) {
  switch (node.kind) {
    case 'status': return out(node.text, 'status');
    case 'error': return out(`(error) ${node.text}`, 'error');
    case 'number': return out(`(integer) ${node.text}`, 'number');
    case 'double': return out(`(double) ${node.text}`, 'number');
    case 'big': return out(`(big number) ${node.text}`, 'number');
    case 'boolean': return out(`(${node.value})`, 'number');
    case 'nil': return out('(nil)', 'nil');
    case 'string': return out(quoted(node.bytes), 'string');
    case 'verbatim': return out(new TextDecoder().decode(node.bytes), 'string');
    default: return writeItems(node, prefix, out, room);
  }
}

/** @param {import('../resp.js').Aggregate} node @param {string} prefix @param {Out} out @param {Room} room */
function writeItems({ kind, items }, prefix, out, room) {
  if (items.length === 0) return out(EMPTY[kind], 'nil');
  const step = kind === 'map' ? 2 : 1;
  const digits = String(items.length / step).length;
  const inner = prefix + ' '.repeat(digits + 2);
  for (let position = 0; position < items.length; position += step) {
    if (room.left-- <= 0) return out(`\n${prefix}... and ${(items.length - position) / step} more`, 'nil');
    const number = String(position / step + 1).padStart(digits);
    out(`${position === 0 ? '' : `\n${prefix}`}${number}${MARK[kind]} `, 'index');
    write(items[position], inner, out, room);
    if (kind !== 'map') continue;
    out(' => ', 'index');
    write(items[position + 1], inner, out, room);
  }
}

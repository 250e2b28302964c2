// A database of many elements, as lines of a dump: to see how the page bears it.

import { utf8 } from '../bytes.js';

export const ELEMENTS = 100_000;
export const ELEMENTS_PER_KEY = 100;
const LINES_AT_ONCE = 10;

/** @param {string} text */
const base64 = (text) => btoa(text);
/** @param {number} position */
const name = (position) => String(position).padStart(4, '0');

/** A key of each type in turn, 100 elements each. @returns {AsyncGenerator<Uint8Array>} */
export async function* sample() {
  const makers = [hash, zset, list, set];
  const keys = ELEMENTS / ELEMENTS_PER_KEY;
  for (let from = 0; from < keys; from += LINES_AT_ONCE) {
    const lines = Array.from({ length: LINES_AT_ONCE }, (_, offset) => JSON.stringify(makers[(from + offset) % makers.length](from + offset)));
    yield utf8(`${lines.join('\n')}\n`);
  }
}

/** @param {(position: number) => unknown} element */
const elements = (element) => Array.from({ length: ELEMENTS_PER_KEY }, (_, position) => element(position));

/** @param {string} type @param {number} at */
const head = (type, at) => ({ db: 0, key: base64(`sample:${type}:${name(at)}`), type, expire_at_ms: null });

/** @param {number} at */
const hash = (at) => ({ ...head('hash', at), fields: elements((position) => [base64(`field:${name(position)}`), base64(`value ${at * ELEMENTS_PER_KEY + position}`)]) });

/** @param {number} at */
const list = (at) => ({ ...head('list', at), items: elements((position) => base64(`item ${position}`)) });

/** @param {number} at */
const set = (at) => ({ ...head('set', at), members: elements((position) => base64(`member:${name(position)}`)) });

/** @param {number} at */
const zset = (at) => ({ ...head('zset', at), members: elements((position) => [base64(`player:${name(position)}`), String(position), bits(position)]) });

/** A score's 64 bits. @param {number} score */
function bits(score) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, score);
  return view.getBigUint64(0).toString(16).padStart(16, '0');
}

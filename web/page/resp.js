// A reply with the type of every part, as a terminal shows it: the package's own decoder makes plain values, where a status is like
// a string, and a double like an integer.

import { text } from './bytes.js';

/**
 * @typedef {{ kind: 'status' | 'error' | 'number' | 'double' | 'big', text: string }} Simple
 * @typedef {{ kind: 'string' | 'verbatim', bytes: Uint8Array }} Text
 * @typedef {{ kind: 'nil' } | { kind: 'boolean', value: boolean }} Constant
 * @typedef {{ kind: 'array' | 'set' | 'map' | 'push', items: Node[] }} Aggregate  Of a map: key, value, key, value.
 * @typedef {Simple | Text | Constant | Aggregate} Node
 */

const CR = 13;
const LINE_END_BYTES = 2;
const SIMPLE = new Map(/** @type {[string, Simple['kind']][]} */ ([['+', 'status'], ['-', 'error'], [':', 'number'], [',', 'double'], ['(', 'big']]));
const AGGREGATE = new Map(/** @type {[string, Aggregate['kind']][]} */ ([['*', 'array'], ['~', 'set'], ['%', 'map'], ['>', 'push']]));
// The format of a verbatim string and a colon stand before its text.
const VERBATIM_HEAD_BYTES = 4;

/** @param {Uint8Array} bytes One whole reply. @returns {Node} */
export const decode = (bytes) => new Reader(bytes).node();

class Reader {
  #at = 0;

  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
  }

  /** @returns {Node} */
  node() {
    const line = this.#line();
    const mark = line.charAt(0);
    const rest = line.slice(1);
    const simple = SIMPLE.get(mark);
    if (simple) return { kind: simple, text: rest };
    const kind = AGGREGATE.get(mark);
    if (mark === '_' || rest === '-1') return { kind: 'nil' };
    if (mark === '#') return { kind: 'boolean', value: rest === 't' };
    if (kind) return { kind, items: Array.from({ length: Number(rest) * (kind === 'map' ? 2 : 1) }, () => this.node()) };
    const bytes = this.#take(Number(rest));
    if (mark === '=') return { kind: 'verbatim', bytes: bytes.subarray(VERBATIM_HEAD_BYTES) };
    return mark === '!' ? { kind: 'error', text: text(bytes) ?? '' } : { kind: 'string', bytes };
  }

  #line() {
    const line = this.bytes.subarray(this.#at, this.bytes.indexOf(CR, this.#at));
    this.#at += line.length + LINE_END_BYTES;
    return new TextDecoder().decode(line);
  }

  /** @param {number} length */
  #take(length) {
    const taken = this.bytes.subarray(this.#at, this.#at + length);
    this.#at += length + LINE_END_BYTES;
    return taken;
  }
}

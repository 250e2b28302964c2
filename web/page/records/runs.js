// A key or value as runs of bytes: the field's name above, the bytes, and what they say below.

import { equal } from '../bytes.js';
import { h } from '../dom.js';
import { sortOf } from './fields.js';

/** @typedef {import('orbweaver').Run} Run */
/** @typedef {{ bytes: Uint8Array, runs: Run[] }} Part A key or a value. */

const MOST_BYTES = 24;
// Of a run that is cut, so many are shown, and room is left for the note.
const CUT_BYTES = 16;
const MOST_SHOWN = 48;

/**
 * Bytes that are no longer as in `before` are marked.
 * @param {Part} part @param {boolean} asText Bytes as characters, not as digits. @param {Part | null} [before]
 * @returns {HTMLElement[]}
 */
export function draw({ bytes, runs }, asText, before = null) {
  const all = runs.length > 0 || bytes.length === 0 ? runs : [{ offset: 0, length: bytes.length, field: 'bytes', shown: '' }];
  return all.map((run) => {
    const own = bytes.subarray(run.offset, run.offset + run.length);
    const old = before && fieldOf(before, run.field);
    const isChanged = before !== null && !(old && equal(old, own));
    return h('span', { class: `run sort-${sortOf(run.field).name}${isChanged ? ' is-changed' : ''}` },
      h('span', { class: 'run-field' }, run.field),
      h('span', { class: 'run-bytes' }, asText ? characters(own) : digits(own, isChanged ? old : null)),
      h('span', { class: 'run-shown', title: run.shown }, run.shown.length > MOST_SHOWN ? `${run.shown.slice(0, MOST_SHOWN)}…` : run.shown || '\u00a0'));
  });
}

/** @param {Part} part @param {string} field */
function fieldOf({ bytes, runs }, field) {
  const run = runs.find((run) => run.field === field);
  return run ? bytes.subarray(run.offset, run.offset + run.length) : null;
}

/** Zeros stand back, so that numbers can be read. @param {Uint8Array} bytes @param {Uint8Array | null} old @returns {(string | HTMLElement)[]} */
function digits(bytes, old) {
  const { shown, note } = cut(bytes);
  const sameLength = old !== null && old.length === bytes.length;
  const pairs = Array.from(shown, (byte, position) => {
    const pair = byte.toString(16).padStart(2, '0');
    if (sameLength && old[position] !== byte) return h('mark', {}, pair);
    return byte === 0 ? h('i', {}, pair) : pair;
  });
  return [...pairs.flatMap((pair, position) => (position > 0 ? [' ', pair] : [pair])), note];
}

/** @param {Uint8Array} bytes */
function characters(bytes) {
  const { shown, note } = cut(bytes);
  return [Array.from(shown, (byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '·')).join(''), note];
}

/** @param {Uint8Array} bytes */
function cut(bytes) {
  if (bytes.length <= MOST_BYTES) return { shown: bytes, note: '' };
  return { shown: bytes.subarray(0, CUT_BYTES), note: ` … ${(bytes.length - CUT_BYTES).toLocaleString('en-US')} more` };
}

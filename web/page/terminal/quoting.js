// A line into arguments, by redis-cli's rules.

import { utf8 } from '../bytes.js';

const ESCAPED = new Map([['n', 10], ['r', 13], ['t', 9], ['b', 8], ['a', 7]]);

/**
 * The arguments of a line; null where a quote is not closed, or is followed by anything but a space. Within "..." stand
 * `\n \r \t \b \a`, `\xHH` and any escaped character; within '...' only `\'`.
 * @param {string} line
 * @returns {Uint8Array[] | null}
 */
export function split(line) {
  const characters = Array.from(line);
  const args = [];
  let at = 0;
  for (;;) {
    while (isSpace(characters[at])) at++;
    if (at >= characters.length) return args;
    const read = argument(characters, at);
    if (!read) return null;
    args.push(read.bytes);
    at = read.end;
  }
}

/** @param {string[]} characters @param {number} at @returns {{ bytes: Uint8Array, end: number } | null} */
function argument(characters, at) {
  /** @type {number[]} */
  const bytes = [];
  while (at < characters.length && !isSpace(characters[at])) {
    const quote = characters[at];
    if (quote !== '"' && quote !== "'") {
      bytes.push(...utf8(quote));
      at++;
      continue;
    }
    at++;
    while (characters[at] !== quote) {
      if (at >= characters.length) return null;
      const escape = quote === '"' ? doubleEscape(characters, at) : singleEscape(characters, at);
      bytes.push(...(escape?.bytes ?? utf8(characters[at])));
      at += escape?.length ?? 1;
    }
    at++;
    if (at < characters.length && !isSpace(characters[at])) return null;
  }
  return { bytes: Uint8Array.from(bytes), end: at };
}

/** @param {string[]} characters @param {number} at */
function doubleEscape(characters, at) {
  if (characters[at] !== '\\' || at + 1 >= characters.length) return null;
  const digits = characters.slice(at + 2, at + 4).join('');
  if (characters[at + 1] === 'x' && /^[0-9a-f]{2}$/i.test(digits)) return { bytes: [Number.parseInt(digits, 16)], length: 4 };
  const code = ESCAPED.get(characters[at + 1]);
  return { bytes: code === undefined ? utf8(characters[at + 1]) : [code], length: 2 };
}

/** @param {string[]} characters @param {number} at */
function singleEscape(characters, at) {
  return characters[at] === '\\' && characters[at + 1] === "'" ? { bytes: utf8("'"), length: 2 } : null;
}

/** @param {string | undefined} character */
const isSpace = (character) => character !== undefined && /\s/.test(character);

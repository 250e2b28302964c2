// Byte strings: to and from text, compared, shown.

const encoder = new TextEncoder();
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const ESCAPES = new Map([[7, '\\a'], [8, '\\b'], [9, '\\t'], [10, '\\n'], [13, '\\r'], [34, '\\"'], [92, '\\\\']]);

/** @param {string} text */
export const utf8 = (text) => encoder.encode(text);

/** The text, or null where the bytes are not UTF-8. @param {Uint8Array} bytes @returns {string | null} */
export function text(bytes) {
  try {
    return strict.decode(bytes);
  } catch {
    return null;
  }
}

/** @param {Uint8Array} bytes */
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** @param {Uint8Array} a @param {Uint8Array} b */
export const equal = (a, b) => a.length === b.length && a.every((byte, position) => byte === b[position]);

/** @param {Uint8Array[]} parts */
export function concat(parts) {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * As redis-cli writes a string: in quotes, with escapes, but for readable characters beyond ASCII, which stay.
 * @param {Uint8Array} bytes
 */
export const quoted = (bytes) => `"${escaped(bytes)}"`;

/** The same without quotes, where nothing has to be escaped. @param {Uint8Array} bytes */
export function plain(bytes) {
  const inner = escaped(bytes);
  return inner.includes('\\') || inner === '' ? `"${inner}"` : inner;
}

/** As a word that the terminal reads back as these bytes. @param {Uint8Array} bytes */
export function word(bytes) {
  const inner = escaped(bytes);
  return /^[^\s"'\\]+$/.test(inner) ? inner : `"${inner}"`;
}

/** @param {Uint8Array} bytes */
function escaped(bytes) {
  const readable = text(bytes);
  if (readable !== null && !/[\p{C}]/u.test(readable)) return readable.replace(/["\\]/g, '\\$&');
  return Array.from(bytes, (byte) => ESCAPES.get(byte) ?? (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : `\\x${hex(Uint8Array.of(byte))}`)).join('');
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];

/** A number of bytes for people. @param {number} count */
export function size(count) {
  let unit = 0;
  for (; count >= 1000 && unit < UNITS.length - 1; unit++) count /= 1000;
  return `${unit === 0 || count >= 100 ? Math.round(count) : count.toFixed(1)} ${UNITS[unit]}`;
}

/** With separators, the same in every locale. @param {number | bigint} value */
export const grouped = (value) => value.toLocaleString('en-US');

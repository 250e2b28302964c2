// Redis' protocol, versions 2 and 3: requests into bytes, bytes into replies.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const CR = 13;
const LF = 10;
/** `>` */
const PUSH = 62;

/** An error reply of a command, such as `WRONGTYPE ...`. */
export class ReplyError extends Error {
  constructor(message) {
    super(message);
    this.name = 'ReplyError';
  }

  /** The first word: `ERR`, `WRONGTYPE`, `NOAUTH` ... */
  get code() {
    return this.message.split(' ', 1)[0];
  }
}

/** The bytes of an argument. Numbers are written as Redis reads them. */
function argument(value) {
  if (value instanceof Uint8Array) return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (typeof value === 'string') return encoder.encode(value);
  if (typeof value === 'bigint') return encoder.encode(value.toString());
  if (typeof value === 'number') return encoder.encode(number(value));
  throw new TypeError(`an argument of a command is a string, a number, a bigint or a Uint8Array, not ${typeof value}`);
}

function number(value) {
  if (Number.isNaN(value)) throw new TypeError('NaN is no argument of a command');
  if (value === Infinity) return 'inf';
  return value === -Infinity ? '-inf' : String(value);
}

/** The requests of several commands, one behind the other. */
export function encode(commands) {
  const pieces = commands.flatMap((words) => {
    if (!Array.isArray(words) || words.length === 0) throw new TypeError('a command is a list of its name and its arguments');
    return [encoder.encode(`*${words.length}\r\n`), ...words.flatMap((word) => {
      const bytes = argument(word);
      return [encoder.encode(`$${bytes.length}\r\n`), bytes, encoder.encode('\r\n')];
    })];
  });
  return concat(pieces);
}

/** Byte strings, one behind the other. */
export function concat(pieces) {
  const whole = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** Thrown within the decoder where bytes are missing. */
const INCOMPLETE = Symbol('incomplete');

/** Cuts a stream of bytes into replies. */
export class Decoder {
  #bytes = new Uint8Array(0);
  #at = 0;

  /** Adds what has arrived. */
  push(bytes) {
    const rest = this.#bytes.subarray(this.#at);
    this.#bytes = rest.length === 0 ? bytes : concat([rest, bytes]);
    this.#at = 0;
  }

  /**
   * The next whole reply, `{ value, isPush, bytes }`; undefined where there is none yet. `binary` leaves strings as Uint8Array.
   * Errors are values here: instances of ReplyError.
   */
  next({ binary = false } = {}) {
    const reader = new Reader(this.#bytes, this.#at, binary);
    try {
      if (this.#at === this.#bytes.length) return undefined;
      const isPush = this.#bytes[this.#at] === PUSH;
      const value = reader.value();
      const bytes = this.#bytes.subarray(this.#at, reader.at);
      this.#at = reader.at;
      return { value, isPush, bytes };
    } catch (error) {
      if (error === INCOMPLETE) return undefined;
      throw error;
    }
  }
}

/** Strings up to this length are put together without a decoder, where they are ASCII: it takes longer to call than they do. */
const SHORT = 32;

class Reader {
  constructor(bytes, at, binary) {
    this.bytes = bytes;
    this.at = at;
    this.binary = binary;
  }

  value() {
    if (this.at >= this.bytes.length) throw INCOMPLETE;
    const type = String.fromCharCode(this.bytes[this.at]);
    this.at += 1;
    switch (type) {
      case '+': return this.line();
      case '-': return new ReplyError(this.line());
      case ':': return integer(this.line());
      case '$': return this.bulk(this.length());
      case '*': return this.list(this.length());
      case '_': return this.line(), null;
      case '#': return this.line() === 't';
      case ',': return double(this.line());
      case '(': return BigInt(this.line());
      case '!': return new ReplyError(decode(this.take(this.length())));
      case '=': return this.text(this.take(this.length()).subarray(4));
      case '%': return this.map(this.length());
      case '~': return new Set(this.list(this.length()));
      case '>': return this.list(this.length());
      case '|': return this.map(this.length()), this.value();
      default: throw new Error(`not a reply of Redis' protocol: ${type}`);
    }
  }

  /** The rest of a line. */
  line() {
    const end = this.bytes.indexOf(CR, this.at);
    if (end < 0 || end + 1 >= this.bytes.length) throw INCOMPLETE;
    if (this.bytes[end + 1] !== LF) throw new Error("not a line of Redis' protocol");
    const line = decode(this.bytes.subarray(this.at, end));
    this.at = end + 2;
    return line;
  }

  /** The rest of a line that is a length, -1 for nothing. */
  length() {
    return Number(this.line());
  }

  take(length) {
    const end = this.at + length;
    if (end + 2 > this.bytes.length) throw INCOMPLETE;
    const taken = this.bytes.subarray(this.at, end);
    this.at = end + 2;
    return taken;
  }

  bulk(length) {
    return length < 0 ? null : this.text(this.take(length));
  }

  text(bytes) {
    return this.binary ? bytes.slice() : decode(bytes);
  }

  list(length) {
    if (length < 0) return null;
    const values = [];
    for (let n = 0; n < length; n++) values.push(this.value());
    return values;
  }

  map(length) {
    const entries = new Map();
    for (let n = 0; n < length; n++) entries.set(this.value(), this.value());
    return entries;
  }
}

/** UTF-8 as text. */
function decode(bytes) {
  if (bytes.length > SHORT) return decoder.decode(bytes);
  let text = '';
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] > 0x7f) return decoder.decode(bytes);
    text += String.fromCharCode(bytes[at]);
  }
  return text;
}

function integer(text) {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

function double(text) {
  const words = { inf: Infinity, '-inf': -Infinity, nan: NaN };
  return words[text] ?? Number(text);
}

// The page's end of a connection: requests out, replies in, in their order.

import { Decoder, ReplyError, encode } from './resp.js';

/** Commands that are confirmed by messages, one for each channel. */
const CONFIRMED = ['subscribe', 'unsubscribe', 'psubscribe', 'punsubscribe', 'ssubscribe', 'sunsubscribe'];

/** A request under way. */
class Pending {
  constructor(words, options, settle) {
    const name = typeof words?.[0] === 'string' ? words[0].toLowerCase() : '';
    this.confirmation = CONFIRMED.includes(name) ? name : null;
    this.left = this.confirmation ? Math.max(1, words.length - 1) : 1;
    this.options = options;
    this.settle = settle;
  }

  /** Whether a message or reply belongs to this request. */
  matches({ value, isPush }) {
    if (this.confirmation === null) return !isPush;
    return !Array.isArray(value) || String(value[0]) === this.confirmation;
  }
}

export class Connection {
  /** Hears messages that are no replies: of channels, of invalidated keys. */
  onpush = () => {};
  /** Hears why the connection was closed. */
  onclose = () => {};
  isOpen = true;
  #link;
  #number;
  #pending = [];
  #decoder = new Decoder();

  /** A connection over the link of a tab. */
  constructor(link) {
    this.#link = link;
    this.#number = link.connect(this);
  }

  /** Sends commands in one piece; one promise a command, of `{ value, bytes }`. */
  send(commands, options = {}) {
    return this.write(encode(commands), commands, options);
  }

  /** Sends bytes that hold as many requests as `commands` has entries. */
  write(bytes, commands, options = {}) {
    if (!this.isOpen) return commands.map(() => Promise.reject(new Error('the connection is closed')));
    const replies = commands.map((words) => new Promise((resolve, reject) => {
      this.#pending.push(new Pending(words, options, { resolve, reject }));
    }));
    this.#link.send(this.#number, bytes);
    return replies;
  }

  /** Closes the connection; what is under way fails. */
  close() {
    if (!this.isOpen) return;
    this.#link.disconnect(this.#number);
    this.closed('the connection was closed');
  }

  /** What has arrived. */
  receive(bytes) {
    this.#decoder.push(bytes);
    for (;;) {
      const reply = this.#decoder.next(this.#pending[0]?.options);
      if (!reply) return;
      this.#take(reply);
    }
  }

  /** Nothing arrives any more. */
  closed(reason) {
    this.isOpen = false;
    for (const { settle } of this.#pending.splice(0)) settle.reject(new Error(reason));
    this.onclose(reason);
  }

  #take(reply) {
    const [first] = this.#pending;
    if (!first?.matches(reply)) return this.onpush(reply.value);
    first.left -= 1;
    if (first.left > 0 && !(reply.value instanceof ReplyError)) return;
    this.#pending.shift();
    first.settle.resolve(reply);
  }
}

import type { Command, Reply, ReplyOptions } from './index.js';

export { ReplyError } from './index.js';

/** The requests of commands in Redis' protocol, one behind the other. */
export function encode(commands: Command[]): Uint8Array;

/** Byte strings, one behind the other. */
export function concat(pieces: Uint8Array[]): Uint8Array;

/** Cuts a stream of bytes into replies, of either version of the protocol. */
export class Decoder {
  /** Adds what has arrived. */
  push(bytes: Uint8Array): void;
  /** The next whole reply; undefined where there is none yet. Throws where the bytes are not of the protocol. */
  next(options?: ReplyOptions): { value: Reply; isPush: boolean; bytes: Uint8Array } | undefined;
}

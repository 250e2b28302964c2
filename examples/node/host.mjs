// Orbweaver under Node: what the component imports, and the loop that speaks Redis' protocol with it.

import { randomBytes } from 'node:crypto';
import { instantiate } from './transpiled/orbweaver.js';

/** The engine on a store, for one thread. Calls are synchronous. */
export async function open(store, { now = systemClock, getRandomU64 = systemRandom } = {}) {
  const engine = await instantiate(undefined, {
    'orbweaver:kv/store': methods(store),
    'wasi:clocks/wall-clock': { now },
    'wasi:random/random': { getRandomU64 },
    'orbweaver:engine/log': { panicked: (text) => console.error(text) },
  });
  engine.control.open([]);
  engine.resp.connect(1n, 'in-process', undefined);
  return engine;
}

/** A command in Redis' protocol; the reply as bytes of the protocol. */
export function command(engine, ...words) {
  const bulks = words.map((word) => Buffer.from(word)).flatMap((word) => [Buffer.from(`$${word.length}\r\n`), word, Buffer.from('\r\n')]);
  const request = Buffer.concat([Buffer.from(`*${words.length}\r\n`), ...bulks]);
  return Buffer.from(engine.resp.exchange(request, [{ connection: 1n, end: request.length }]).output);
}

/** jco calls functions, not methods. */
export function methods(store) {
  const names = ['getLimits', 'openKeyspace', 'begin', 'get', 'getMany', 'scan', 'revisions', 'commit', 'rollback'];
  return Object.fromEntries(names.map((name) => [name, store[name].bind(store)]));
}

function systemClock() {
  const milliseconds = Date.now();
  return { seconds: BigInt(Math.floor(milliseconds / 1000)), nanoseconds: (milliseconds % 1000) * 1_000_000 };
}

const systemRandom = () => randomBytes(8).readBigUInt64LE();

// Replays requests on Node, clock and randomness held still, and writes what they leave behind.
//
// node replay.mjs FOLDER CLOCK_MS SEED < REQUESTS
//
// A request is a line of hexadecimal digits. FOLDER gets the files replies, dump and records, beside those of the store.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { methods } from '../../examples/node/host.mjs';
import { LmdbStore } from '../../examples/node/store.mjs';
import { instantiate } from '../../examples/node/transpiled/orbweaver.js';
import { heldClock, heldRandomness } from './held.mjs';

const [folder, clockMs, seed] = process.argv.slice(2);

const store = new LmdbStore(join(folder, 'store'));
const engine = await instantiate(undefined, {
  'orbweaver:kv/store': methods(store),
  'wasi:clocks/wall-clock': { now: heldClock(clockMs) },
  'wasi:random/random': { getRandomU64: heldRandomness(seed) },
  'orbweaver:engine/log': { panicked: (text) => console.error(text) },
});
engine.control.open([]);
engine.resp.connect(1n, 'exec', undefined);

const replies = [];
for (const line of readFileSync(0, 'latin1').trimEnd().split('\n')) {
  const request = Buffer.from(line, 'hex');
  const { answers, output } = engine.resp.exchange(request, [{ connection: 1n, end: request.length }]);
  if (answers[0].consumed !== request.length) throw new Error(`a request is not done: ${request}`);
  replies.push(output);
}
writeFileSync(join(folder, 'replies'), Buffer.concat(replies));

const chunks = [];
for (let start, more = true; more; more = start !== undefined) {
  const chunk = engine.maintenance.dump(start, 1 << 20);
  chunks.push(chunk.lines);
  start = chunk.next;
}
writeFileSync(join(folder, 'dump'), Buffer.concat(chunks));

const hex = (bytes) => Buffer.from(bytes).toString('hex');
const records = [...store.all()].map(([keyspace, key, value]) => JSON.stringify({ keyspace, k: hex(key), v: hex(value) }) + '\n');
writeFileSync(join(folder, 'records'), records.join(''));
await store.close();

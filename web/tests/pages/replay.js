// A worker that runs requests on a new database, clock and randomness held still: { database, clockMs, seed, requests }, the requests as
// hexadecimal digits. Answers with what they leave behind, as plugins/runtimes compares it.

import { makeEngine } from '/orbweaver/src/engine.js';
import { RecordedStore } from '/orbweaver/src/recorded.js';
import { heldClock, heldRandomness } from '/runtimes/held.mjs';
import loadStore, { IndexedDbStore } from '/orbweaver/store/store.js';

onmessage = async ({ data: { database, clockMs, seed, requests } }) => {
  await loadStore();
  const store = new RecordedStore(await IndexedDbStore.open(database, 'relaxed', []));
  const engine = await makeEngine(store, { now: heldClock(clockMs), getRandomU64: heldRandomness(seed) });
  await engine.resp.connect(1n, 'exec', undefined);
  postMessage({ replies: await replay(engine, requests), dump: await dump(engine), records: await records(store) });
};

async function replay(engine, requests) {
  const replies = [];
  for (const request of requests.map(bytes)) {
    const { answers, output } = await engine.resp.exchange(request, [{ connection: 1n, end: request.length }]);
    if (answers[0].consumed !== request.length) throw new Error(`a request is not done: ${hex(request)}`);
    replies.push(hex(output));
  }
  return replies.join('');
}

async function dump(engine) {
  const decoder = new TextDecoder();
  let lines = '';
  for (let start, more = true; more; more = start !== undefined) {
    const chunk = await engine.maintenance.dump(start, 1 << 20);
    lines += decoder.decode(chunk.lines, { stream: true });
    start = chunk.next;
  }
  return lines;
}

async function records(store) {
  let lines = '';
  for (let after, more = true; more; more = after !== undefined) {
    const page = await store.records(after);
    for (const { keyspace, key, value } of page.records) lines += `${JSON.stringify({ keyspace, k: hex(key), v: hex(value) })}\n`;
    after = page.next;
  }
  return lines;
}

function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function bytes(hex) {
  return Uint8Array.from({ length: hex.length / 2 }, (_, at) => Number.parseInt(hex.slice(2 * at, 2 * at + 2), 16));
}

// A leaderboard that lasts: run it twice. Usage: node leaderboard.mjs FOLDER

import { command, open } from './host.mjs';
import { LmdbStore, split } from './store.mjs';

const store = new LmdbStore(process.argv[2]);
const engine = await open(store);

// Redis' protocol: any of its commands.
console.log('This is run', command(engine, 'INCR', 'runs').toString().replace(/[:\r\n]/g, ''));

// Typed: values in, values out. Db 0, key `scores`: who has more than before gets the new score.
const scores = Buffer.from('scores');
const better = { which: 'any', comparison: 'greater' };
const { added } = engine.sortedSets.add(0, scores, [[120.5, Buffer.from('ada')], [99, Buffer.from('bob')]], better);
console.log(Number(added), 'new players');

engine.sortedSets.increment(0, scores, Buffer.from('bob'), 10, { which: 'any', comparison: 'any' });

// The best ten.
const selection = { range: { tag: 'ranks', val: [0n, 9n] }, direction: 'descending', offset: 0n, limit: undefined };
const best = engine.sortedSets.range(0, scores, selection);
split(best.members).forEach((name, position) => {
  console.log(best.scores[position].toFixed(1).padStart(8), Buffer.from(name).toString());
});

await store.close();

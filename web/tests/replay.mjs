// Replays requests in Chromium, on IndexedDB, clock and randomness held still, and writes what they leave behind.
//
// node replay.mjs FOLDER CLOCK_MS SEED < REQUESTS
//
// A request is a line of hexadecimal digits. FOLDER gets the files replies, dump and records.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Chromium } from './chromium.mjs';

const [folder, clockMs, seed] = process.argv.slice(2);
const requests = (await text(process.stdin)).trimEnd().split('\n');

const chromium = await Chromium.start();
try {
  const page = await chromium.page();
  const request = { database: 'replay', clockMs, seed, requests };
  const { replies, dump, records } = await page.evaluate((request) => ask('replay.js', request), request);
  writeFileSync(join(folder, 'replies'), Buffer.from(replies, 'hex'));
  writeFileSync(join(folder, 'dump'), dump);
  writeFileSync(join(folder, 'records'), records);
} finally {
  await chromium.close();
}

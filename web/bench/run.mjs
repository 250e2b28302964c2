// Prints how Orbweaver in Chromium compares with code that uses IndexedDB itself. Usage: node run.mjs

import { Chromium } from '../tests/chromium.mjs';

const chromium = await Chromium.start();
try {
  const page = await chromium.page();
  const rows = await page.evaluate(async () => (await import('/bench/bench.js')).bench());
  const line = (cells) => `| ${cells.join(' | ')} |`;
  console.log(line(['work', 'how', 'Orbweaver', 'IndexedDB', 'ratio']));
  console.log(line(['---', '---', '---:', '---:', '---:']));
  for (const { name, way, ours, theirs } of rows) {
    console.log(line([name, way, `${ours.toFixed(3)} ms`, `${theirs.toFixed(3)} ms`, (ours / theirs).toFixed(2)]));
  }
} finally {
  await chromium.close();
}

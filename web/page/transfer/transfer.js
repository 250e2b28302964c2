// The whole database to a file and back, and a sample of many elements.

import { grouped, size } from '../bytes.js';
import { byId, h } from '../dom.js';
import { ELEMENTS, ELEMENTS_PER_KEY, sample } from './sample.js';
import { runTask } from './task.js';

/** @typedef {import('../engine.js').Engine} Engine */

const FILE = 'orbweaver.jsonl';
const TYPE = 'application/jsonl';

/** @param {Engine} engine */
export function startTransfer(engine) {
  const file = /** @type {HTMLInputElement} */ (byId('import-file'));
  byId('export').addEventListener('click', () => void exportFile(engine));
  byId('import').addEventListener('click', () => file.click());
  byId('sample').addEventListener('click', () => void loadSample(engine));
  file.addEventListener('change', () => {
    const [chosen] = file.files ?? [];
    if (chosen) void importFile(engine, chosen);
    file.value = '';
  });
}

/** @param {Engine} engine */
function exportFile({ database }) {
  return runTask('Export', async (tell, signal) => {
    /** @type {BlobPart[]} */
    const parts = [];
    let bytes = 0;
    for await (const part of database.dump()) {
      signal.throwIfAborted();
      parts.push(new Uint8Array(part));
      bytes += part.length;
      tell(null, `${size(bytes)} so far`);
    }
    const url = URL.createObjectURL(new Blob(parts, { type: TYPE }));
    h('a', { href: url, download: FILE }).click();
    URL.revokeObjectURL(url);
    return `${size(bytes)} written to ${FILE}.`;
  });
}

/** @param {Engine} engine @param {File} file */
function importFile(engine, file) {
  return runTask(`Import ${file.name}`, async (tell, signal) => {
    const { keys, expired } = await engine.database.load(file, {
      signal, on: ({ keys, bytes }) => tell(bytes / file.size, `${grouped(keys)} keys, ${size(bytes)} of ${size(file.size)}`),
    }).finally(() => engine.changed());
    return `${grouped(keys)} keys loaded${expired > 0n ? `, ${grouped(expired)} left out: their time is past` : ''}.`;
  });
}

/** @param {Engine} engine */
function loadSample(engine) {
  return runTask(`Load ${grouped(ELEMENTS)} elements`, async (tell, signal) => {
    const { keys } = await engine.database.load(sample(), {
      signal,
      on: ({ keys }) => {
        const elements = Number(keys) * ELEMENTS_PER_KEY;
        tell(elements / ELEMENTS, `${grouped(elements)} of ${grouped(ELEMENTS)} elements`);
      },
    }).finally(() => engine.changed());
    return `${grouped(keys)} keys with ${grouped(ELEMENTS)} elements loaded.`;
  });
}

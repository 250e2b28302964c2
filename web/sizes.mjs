// What a browser loads, as a table. As a program, writes it into a document between its marks: node sizes.mjs WEB DOCUMENT

import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';

const MARKS = ['<!-- sizes: written by web/sizes.mjs -->\n', '<!-- end of sizes -->'];

/** Parts of the package, and which files they are. */
const PARTS = [
  ['engine, WebAssembly', 'engine', (name) => name.endsWith('.wasm')],
  ['engine, JavaScript around it', 'engine', (name) => name.endsWith('.js')],
  ['store, WebAssembly', 'store', (name) => name.endsWith('.wasm')],
  ['store, JavaScript around it', 'store', (name) => name.endsWith('.js')],
  ['package', 'src', (name) => name.endsWith('.js')],
];

/** The parts of the package in `web`: `{ name, size, gzip }`, in bytes, and their sum. */
export function measure(web) {
  const parts = PARTS.map(([name, folder, belongs]) => {
    const path = join(web, 'orbweaver', folder);
    const files = readdirSync(path).filter(belongs).map((file) => readFileSync(join(path, file)));
    const sum = (lengths) => lengths.reduce((sum, length) => sum + length, 0);
    return { name, size: sum(files.map((file) => file.length)), gzip: sum(files.map((file) => gzipSync(file).length)) };
  });
  const total = (of) => parts.reduce((sum, part) => sum + part[of], 0);
  return [...parts, { name: 'all', size: total('size'), gzip: total('gzip') }];
}

/** The table, in units of 1000 bytes. */
export function table(sizes) {
  const kb = (bytes) => Math.ceil(bytes / 1000);
  const rows = sizes.map(({ name, size, gzip }) => `| ${name} | ${kb(size)} | ${kb(gzip)} |`);
  return ['| part | KB | KB with gzip |', '|---|---:|---:|', ...rows, ''].join('\n');
}

/** What a document says between the marks, and what is around it. */
export function marked(text) {
  const [before, rest] = text.split(MARKS[0]);
  const [between, after] = (rest ?? '').split(MARKS[1]);
  if (after === undefined) throw new Error('the document has no place for the sizes');
  return { before: before + MARKS[0], between, after: MARKS[1] + after };
}

if (import.meta.url === pathToFileURL(argv[1]).href) {
  const [, , web, document] = argv;
  const { before, after } = marked(readFileSync(document, 'utf8'));
  writeFileSync(document, before + table(measure(web)) + after);
}

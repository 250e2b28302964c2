// Names the files that the page needs, for its service worker: `files.js`, with a version that is another one as soon as a file is.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';

const NAME = 'files.js';
/** The worker is not kept in its own cache: the browser keeps it. The rest is for developers who install the package. */
const LEFT_OUT = new Set([NAME, 'sw.js']);
const NEEDED = new Set(['.css', '.html', '.js', '.svg', '.wasm', '.webmanifest']);
const VERSION_DIGITS = 16;

/** Writes it into the folder of the page, which is whole then. */
export function writeFiles(folder) {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && NEEDED.has(extname(entry.name)))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((name) => !LEFT_OUT.has(name))
    .sort();
  const hash = createHash('sha256');
  for (const name of names) hash.update(`${name}\0`).update(readFileSync(join(folder, name)));
  const version = hash.digest('hex').slice(0, VERSION_DIGITS);
  // The page is asked for by its folder.
  const files = { version, names: ['./', ...names.filter((name) => name !== 'index.html')] };
  writeFileSync(join(folder, NAME), `self.FILES = ${JSON.stringify(files)};\n`);
}

// Components as JavaScript for browsers, where what waits for IndexedDB suspends WebAssembly (JavaScript Promise Integration).

import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { patch, patchTypes } from './patch.mjs';

/** The folder of this file. */
export const here = dirname(fileURLToPath(import.meta.url));

/** The calls of the store that wait. */
const ASYNC_IMPORTS = ['open-keyspace', 'get', 'get-many', 'scan', 'commit'].map((name) => `orbweaver:kv/store#${name}`);

/** Makes the module `NAME.js` of a component, with its core modules beside it. `exports` are the functions that may wait. */
export function transpile(component, name, folder, exports) {
  tool('@bytecodealliance/jco/dist/jco.js', [
    'transpile', component, '--out-dir', folder, '--name', name, '--instantiation', 'async', '--async-mode', 'jspi',
    '--async-imports', ...ASYNC_IMPORTS, '--async-exports', ...exports,
    '--no-wasi-shim', '--no-nodejs-compat', '--quiet',
  ]);
  rewrite(join(folder, `${name}.js`), (text) => patch(`${name}.js`, text));
  for (const types of readdirSync(join(folder, 'interfaces'))) rewrite(join(folder, 'interfaces', types), patchTypes);
}

function rewrite(file, change) {
  writeFileSync(file, change(readFileSync(file, 'utf8')));
}

/** Runs a program of an npm package. */
export function tool(path, args) {
  execFileSync(process.execPath, [join(here, 'node_modules', path), ...args], { stdio: 'inherit' });
}

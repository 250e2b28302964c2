// Makes what browsers get: the npm package `orbweaver`, out of its sources, the store and the component of the release, and the page.
//
// node build.mjs COMPONENT STORE OUT
//
// OUT gets the page, the package's files in the folder orbweaver, and the package as npm packs it.
//
// The component is the one that runs everywhere. What is optimised for the browser is the core module that jco takes out of it.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { here, tool, transpile } from './jspi.mjs';
import { writeFiles } from './offline.mjs';

const [component, store, web] = process.argv.slice(2);
const out = join(web, 'orbweaver');

rmSync(web, { recursive: true, force: true });
mkdirSync(join(out, 'engine'), { recursive: true });
cpSync(join(here, 'package'), out, { recursive: true });
cpSync(store, join(out, 'store'), { recursive: true });
for (const name of ['LICENSE-APACHE', 'LICENSE-MIT']) cpSync(join(here, '..', name), join(out, name));

transpile(component, 'engine', join(out, 'engine'), asyncExports());
for (const folder of ['engine', 'store']) {
  for (const name of readdirSync(join(out, folder)).filter((name) => name.endsWith('.wasm'))) optimise(join(out, folder, name));
}

cpSync(join(here, 'page'), web, { recursive: true });
writeFiles(web);
execFileSync('npm', ['pack', '--silent', '--pack-destination', web], { cwd: out, stdio: 'ignore' });

/** Every function that the engine exports: any of them may wait for the store. */
function asyncExports() {
  const folder = join(here, '../wit/engine');
  return readdirSync(folder).flatMap((file) => {
    const text = readFileSync(join(folder, file), 'utf8');
    const [, name] = /^interface ([a-z-]+) \{/m.exec(text) ?? [];
    if (name === undefined || name === 'log') return [];
    return [...text.matchAll(/^ {4}([a-z-]+): func/gm)].map(([, func]) => `orbweaver:engine/${name}#${func}`);
  });
}

function optimise(file) {
  const features = ['bulk-memory', 'nontrapping-float-to-int', 'sign-ext', 'mutable-globals', 'reference-types', 'multivalue', 'simd'];
  const flags = features.map((feature) => `--enable-${feature}`);
  tool('binaryen/bin/wasm-opt', ['-O3', ...flags, file, '-o', file]);
}

// The test-suite of the contract on the store of this example. Usage: node conform.mjs FOLDER [leave | find | contend NUMBER OF]
// FOLDER does not exist yet, or is one that `leave` has written, or that other participants of `contend` use.

import { _setArgs } from '@bytecodealliance/preview2-shim/cli';
import { WASIShim } from '@bytecodealliance/preview2-shim/instantiation';
import { methods } from './host.mjs';
import { LmdbStore } from './store.mjs';
import { instantiate } from './transpiled/conform.js';

const [folder, ...words] = process.argv.slice(2);
_setArgs(['orbweaver-conform', ...words]);
const store = new LmdbStore(folder);
const suite = await instantiate(undefined, { ...new WASIShim().getImportObject(), 'orbweaver:kv/store': methods(store) });
try {
  suite.run.run();
} catch {
  // The suite has said why.
  process.exitCode = 1;
}
await store.close();

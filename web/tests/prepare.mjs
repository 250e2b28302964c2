// Makes JavaScript of the test-suite of the contract. Usage: node prepare.mjs RELEASE WEB, two folders.

import { join } from 'node:path';
import { transpile } from '../jspi.mjs';

const [release, web] = process.argv.slice(2);
transpile(join(release, 'orbweaver-conform.wasm'), 'conform', join(web, '../tests/conform'), ['wasi:cli/run#run']);

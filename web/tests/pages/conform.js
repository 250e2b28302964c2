// A worker that runs the test-suite of the contract on IndexedDB, once, as a message says: { database, words, withoutRecords }.

import * as cli from '/wasi/cli.js';
import * as clocks from '/wasi/clocks.js';
import * as io from '/wasi/io.js';
import { contract } from '/orbweaver/src/engine.js';
import loadStore, { IndexedDbStore } from '/orbweaver/store/store.js';
import { instantiate } from '/built/conform/conform.js';

onmessage = async ({ data: { database, words, withoutRecords } }) => {
  // As a browser that has no getAllRecords yet.
  if (withoutRecords) delete IDBObjectStore.prototype.getAllRecords;
  await loadStore();
  const store = await IndexedDbStore.open(database, 'relaxed', []);
  const output = [];
  const decoder = new TextDecoder();
  const stream = io.outputStreamCreate({ write: (bytes) => output.push(decoder.decode(bytes)) });
  const suite = await instantiate(coreModule, { ...wasi(words, stream), 'orbweaver:kv/store': contract(store) });
  let passed = true;
  try {
    await suite.run.run();
  } catch {
    // The suite has said why.
    passed = false;
  }
  store.close();
  postMessage({ passed, output: output.join('') });
};

const coreModule = async (name) => WebAssembly.compileStreaming(fetch(`/built/conform/${name}`));

function wasi(words, stream) {
  return {
    'wasi:cli/environment': { getEnvironment: () => [], getArguments: () => ['orbweaver-conform', ...words], initialCwd: () => undefined },
    'wasi:cli/exit': cli.exit,
    'wasi:cli/stdin': cli.stdin,
    'wasi:cli/stdout': { getStdout: () => stream },
    'wasi:cli/stderr': { getStderr: () => stream },
    'wasi:cli/terminal-input': cli.terminalInput,
    'wasi:cli/terminal-output': cli.terminalOutput,
    'wasi:cli/terminal-stderr': cli.terminalStderr,
    'wasi:cli/terminal-stdin': cli.terminalStdin,
    'wasi:cli/terminal-stdout': cli.terminalStdout,
    'wasi:clocks/monotonic-clock': clocks.monotonicClock,
    'wasi:clocks/wall-clock': clocks.wallClock,
    'wasi:io/error': io.error,
    'wasi:io/poll': io.poll,
    'wasi:io/streams': io.streams,
  };
}

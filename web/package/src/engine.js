// The engine: the component, as jco makes JavaScript of it, on a store.

import { instantiate } from '../engine/engine.js';

/** The keyspaces of Orbweaver's own layout, so that a new database is created in one step. */
export const KEYSPACES = ['system', 'meta', 'data', 'score', 'expiry', 'garbage', 'field-expiry', 'rank'];

const compiled = new Map();

/** A core module, compiled once however often the engine is made anew. */
function coreModule(name) {
  if (!compiled.has(name)) {
    const compile = async () => {
      const response = await fetch(new URL(`../engine/${name}`, import.meta.url));
      if (!response.ok) throw new Error(`${response.url}: ${response.status} ${response.statusText}`);
      return WebAssembly.compile(await response.arrayBuffer());
    };
    compiled.set(name, compile());
  }
  return compiled.get(name);
}

/** The contract's functions: jco calls functions, not methods. */
export function contract(store) {
  const names = ['getLimits', 'openKeyspace', 'begin', 'get', 'getMany', 'scan', 'revisions', 'commit', 'rollback'];
  return Object.fromEntries(names.map((name) => [name, store[name].bind(store)]));
}

/** An instance on a store, opened. `panicked` hears the last words before a trap. */
export async function makeEngine(store, { settings = [], panicked = () => {}, now = systemClock, getRandomU64 = systemRandom }) {
  const engine = await instantiate(coreModule, {
    'orbweaver:kv/store': contract(store),
    'wasi:clocks/wall-clock': { now },
    'wasi:random/random': { getRandomU64 },
    'orbweaver:engine/log': { panicked },
  });
  await engine.control.open(settings);
  return engine;
}

function systemClock() {
  const milliseconds = Date.now();
  return { seconds: BigInt(Math.floor(milliseconds / 1000)), nanoseconds: (milliseconds % 1000) * 1_000_000 };
}

const systemRandom = () => crypto.getRandomValues(new BigUint64Array(1))[0];

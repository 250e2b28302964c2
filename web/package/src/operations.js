// What a tab may ask the owner for, beside commands. Each is one bounded step.

import { Refusal } from './server.js';

export const sweep = (engine, _, budget) => engine.maintenance.sweep(budget);

export const check = (engine, _, start, budget) => engine.maintenance.check(start, budget);

export const dump = (engine, _, start, maxBytes) => engine.maintenance.dump(start, maxBytes);

export const load = (engine, _, lines) => engine.maintenance.load(lines);

export const inspect = (engine, _, db, key, cursor, budget) => engine.maintenance.inspect(db, key, cursor, budget);

export const describe = (engine, _, keyspace, key, value) => engine.maintenance.describe(keyspace, key, value);

export const records = (_, store, after) => store.records(after);

export const typed = (engine, _, name, method, args) => {
  const call = engine[name]?.[method];
  if (typeof call !== 'function') throw new Refusal(`there is no function ${name}.${method}`);
  return call(...args);
};

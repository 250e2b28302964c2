// A worker whose engine panics while it serves several connections; answers with what each of them got.

import { makeEngine } from '/orbweaver/src/engine.js';
import { RecordedStore } from '/orbweaver/src/recorded.js';
import { encode } from '/orbweaver/src/resp.js';
import { Server } from '/orbweaver/src/server.js';
import loadStore, { IndexedDbStore } from '/orbweaver/store/store.js';

onmessage = async () => {
  await loadStore();
  const store = new RecordedStore(await IndexedDbStore.open('panic', 'relaxed', []));
  const settings = [['allow-debug-panic', 'yes']];
  const server = await Server.start(store, (store, panicked) => makeEngine(store, { settings, panicked }));
  const decoder = new TextDecoder();
  const got = {};
  const connect = (name) => {
    got[name] = [];
    server.connect(name, name, ({ bytes, closed }) => got[name].push(closed ?? decoder.decode(bytes)));
  };
  const send = (name, ...commands) => server.send(name, encode(commands));
  /** Waits until a connection has got so many answers. */
  const until = async (name, answers) => { while (got[name].length < answers) await new Promise((resolve) => setTimeout(resolve, 5)); };

  for (const name of ['panicked', 'beside', 'waiting', 'selected']) connect(name);
  send('selected', ['SELECT', 1]);
  await until('selected', 1);
  send('selected', ['SET', 'k', 'one']);
  await until('selected', 2);
  send('beside', ['SET', 'k', 'v']);
  await until('beside', 1);
  send('waiting', ['BLPOP', 'queue', 0]);
  await server.drain();

  // Together, in one call of the engine: only one of them is to blame.
  send('beside', ['PING']);
  send('panicked', ['DEBUG', 'PANIC']);
  await until('panicked', 2);
  await until('beside', 2);
  send('beside', ['GET', 'k']);
  await until('beside', 3);
  send('selected', ['GET', 'k']);
  await until('selected', 3);
  connect('new');
  send('new', ['RPUSH', 'queue', 'job']);
  await until('waiting', 1);
  got.panicked[0] = got.panicked[0].slice(0, '-ERR internal: '.length);
  delete got.new;
  postMessage(got);
};

// The page: opens the database and puts its parts to work.

import { byId, fill, h } from './dom.js';
import { Engine } from './engine.js';
import { Guide } from './guide/guide.js';
import { KeyList } from './keys/list.js';
import { Detail } from './records/detail.js';
import { startTabs } from './records/tabs.js';
import { RecordsView } from './records/view.js';
import { explainStart } from './status/errors.js';
import { startOffline } from './status/offline.js';
import { startStorage } from './status/storage.js';
import { startSweep } from './status/sweep.js';
import { startTheme } from './status/theme.js';
import { Terminal } from './terminal/terminal.js';
import { startTransfer } from './transfer/transfer.js';

const DBS = 16;

startTheme();
startTabs();
void startOffline();
try {
  await start();
  document.documentElement.dataset.ready = '';
} catch (error) {
  const { title, what } = explainStart(error);
  fill(byId('main'), h('div', { class: 'fatal', role: 'alert' }, h('h2', {}, title), h('p', {}, what)));
  console.error(error);
}

async function start() {
  const engine = await Engine.open();
  const terminal = new Terminal(engine);
  new KeyList(engine);
  new RecordsView(engine);
  new Detail(engine);
  new Guide(terminal);
  chooseDb(engine, terminal);
  startTransfer(engine);
  startStorage(engine);
  startSweep(engine);
  if (matchMedia('(pointer: fine)').matches) terminal.line.focus();
}

/** @param {Engine} engine @param {Terminal} terminal */
function chooseDb(engine, terminal) {
  const select = /** @type {HTMLSelectElement} */ (byId('db'));
  fill(select, Array.from({ length: DBS }, (_, db) => h('option', { value: db }, db)));
  select.addEventListener('change', async () => {
    await engine.select(Number(select.value));
    await terminal.goTo(engine.db);
  });
  engine.addEventListener('db', () => (select.value = String(engine.db)));
}

// How much room the database takes, whether the browser keeps it, and which tab holds it.

import { size } from '../bytes.js';
import { byId } from '../dom.js';

/** @typedef {import('../engine.js').Engine} Engine */

const EVERY_MS = 10_000;

/** @param {Engine} engine */
export function startStorage({ database }) {
  const usage = byId('usage');
  const meter = /** @type {HTMLMeterElement} */ (byId('usage-meter'));
  const keep = byId('persist');
  const owner = byId('owner');
  const show = async () => {
    const { usage: used, quota, persisted } = await database.storage();
    usage.textContent = `${size(used)} of ${size(quota)}${persisted ? ', kept' : ''}`;
    meter.value = quota > 0 ? used / quota : 0;
    keep.hidden = persisted;
  };
  keep.addEventListener('click', async () => {
    if (!(await database.persist())) byId('announce').textContent = 'The browser does not promise to keep the data. Install the page, or use it more often, and ask again.';
    await show();
  });
  const showOwner = () => {
    owner.textContent = database.owner ? 'This tab holds the database' : 'Another tab holds the database';
    owner.dataset.owner = String(database.owner);
  };
  database.onownerchange = showOwner;
  showOwner();
  void show();
  setInterval(() => !document.hidden && void show(), EVERY_MS);
}

// The sweep, while the page is idle: it removes what has expired, and what removed keys have left behind.

import { grouped } from '../bytes.js';
import { byId } from '../dom.js';

/** @typedef {import('../engine.js').Engine} Engine */

const BUDGET = 256;
const PAUSE_MS = 4000;
/** Safari has no idle callbacks. @param {() => void} work */
const whenIdle = (work) => ('requestIdleCallback' in globalThis ? requestIdleCallback(work, { timeout: 2000 }) : setTimeout(work, 200));

/** @param {Engine} engine */
export function startSweep(engine) {
  const shown = byId('swept');
  let keys = 0n;
  let records = 0n;
  const step = async () => {
    let more = false;
    // One tab is enough, and a hidden page need not hurry.
    if (engine.database.owner && !document.hidden) {
      const swept = await engine.read(() => engine.database.sweep(BUDGET));
      keys += swept.expiredKeys;
      records += swept.records + swept.ranges;
      ({ more } = swept);
      if (swept.expiredKeys + swept.records + swept.ranges > 0n) {
        shown.textContent = `Swept ${grouped(keys)} expired keys, ${grouped(records)} dead records`;
        engine.changed();
      }
    }
    again(more ? 0 : PAUSE_MS);
  };
  /** @param {number} ms */
  const again = (ms) => setTimeout(() => whenIdle(() => void step().catch(() => again(PAUSE_MS))), ms);
  again(PAUSE_MS);
}

// The pane of the selected key: its name, what can be done to it, and its tabs.

import { plain } from '../bytes.js';
import { byId, fill, h } from '../dom.js';
import { sameKey } from '../engine.js';
import { confirmDeletion, expire, rename } from '../keys/actions.js';
import { one, sizeInWords } from '../keys/scan.js';
import { everySecond, left } from '../keys/ttl.js';
import { show } from '../keys/value.js';
import { explain } from '../status/errors.js';

/** @typedef {import('../engine.js').Engine} Engine */
/** @typedef {import('../keys/scan.js').Key} Key */

const CHANGED_MS = 150;

export class Detail {
  #title = byId('selected-name');
  #badge = byId('selected-type');
  #facts = byId('selected-facts');
  #ttl = byId('selected-ttl');
  #value = byId('panel-value');
  /** @type {Key | null} */
  #key = null;
  /** @type {{ key: Uint8Array | null, rows: number }} What More has brought stays when the same key is read again. */
  #extent = { key: null, rows: 0 };
  #turn = 0;
  #timer = 0;

  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
    for (const event of ['selected', 'db']) engine.addEventListener(event, () => void this.#load());
    for (const event of ['ran', 'changed']) engine.addEventListener(event, () => this.#later());
    everySecond(() => this.#tick());
    const actions = { 'do-rename': rename, 'do-expire': expire, 'do-delete': confirmDeletion };
    for (const [id, action] of Object.entries(actions)) byId(id).addEventListener('click', () => this.#key && void action(engine, this.#key.name));
    this.#write();
  }

  #later() {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#load(), CHANGED_MS);
  }

  async #load() {
    const turn = ++this.#turn;
    const { selected } = this.engine;
    if (!sameKey(selected, this.#extent.key)) this.#extent = { key: selected, rows: 0 };
    const extent = this.#extent;
    try {
      const key = selected && (await one(this.engine, selected));
      const value = key && (await show(this.engine, key, extent));
      if (turn !== this.#turn) return;
      this.#key = key;
      this.#write();
      fill(this.#value, value ?? h('p', { class: 'empty' }, selected ? 'There is no such key any more.' : 'Choose a key to see what it holds.'));
    } catch (error) {
      if (turn === this.#turn) fill(this.#value, h('p', { class: 'problem' }, explain(error)));
    }
  }

  #write() {
    const { selected } = this.engine;
    this.#title.textContent = selected ? plain(selected) : 'No key selected';
    this.#title.classList.toggle('is-gone', this.#key === null);
    this.#badge.hidden = this.#key === null;
    this.#badge.textContent = this.#badge.dataset.type = this.#key?.type ?? '';
    this.#facts.textContent = this.#key ? sizeInWords(this.#key) : selected ? 'does not exist' : '';
    for (const button of byId('selected-actions').querySelectorAll('button')) button.disabled = this.#key === null;
    this.#tick();
  }

  #tick() {
    const expiresAt = this.#key?.expiresAt;
    this.#ttl.textContent = expiresAt ? `expires in ${left(expiresAt)}` : '';
  }
}

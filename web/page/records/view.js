// The records of the selected key, and how the last command changed them.

import { word } from '../bytes.js';
import { byId, fill, h } from '../dom.js';
import { PAGE, sameKey, writes } from '../engine.js';
import { explain } from '../status/errors.js';
import { changes, unchanged } from './changes.js';
import { sortsOf } from './fields.js';
import { draw } from './runs.js';

/** @typedef {import('../engine.js').Engine} Engine */
/** @typedef {import('../engine.js').Ran} Ran */
/** @typedef {import('./changes.js').Shown} Shown */

const CHANGED_MS = 150;

export class RecordsView {
  #last = byId('last-command');
  #list = byId('record-list');
  #others = byId('other-records');
  #legend = byId('legend');
  #asText = false;
  /** @type {Ran | null} */
  #ran = null;
  #turn = 0;
  #timer = 0;
  /** @type {{ own: Shown[], others: Shown[], next: Uint8Array | undefined }} */
  #content = { own: [], others: [], next: undefined };

  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
    engine.addEventListener('ran', (event) => void this.#follow(/** @type {CustomEvent<Ran>} */ (event).detail));
    engine.addEventListener('selected', () => void this.#show());
    engine.addEventListener('db', () => this.#forget());
    engine.addEventListener('changed', () => this.#later());
    for (const button of this.#notations()) button.addEventListener('click', () => this.#choose(button));
    this.#draw();
  }

  /** Goes to the key that a command named. @param {Ran} ran */
  async #follow(ran) {
    // HELP, HELLO and the like say nothing about records.
    if (!ran.key && !ran.traced.some(writes)) return;
    this.#ran = ran;
    if (ran.key && !sameKey(ran.key, this.engine.selected)) this.engine.choose(ran.key);
    else await this.#show();
  }

  #forget() {
    this.#ran = null;
    void this.#show();
  }

  #later() {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#show(), CHANGED_MS);
  }

  async #show() {
    const turn = ++this.#turn;
    const { engine } = this;
    const { selected, db } = engine;
    try {
      const { records, next } = selected ? await engine.read(() => engine.database.inspect(db, selected, undefined, PAGE)) : { records: [], next: undefined };
      const ran = this.#ran;
      const concerns = ran !== null && (ran.key === null || sameKey(ran.key, selected));
      const changed = concerns && ran ? await changes(engine, ran, records, next === undefined) : null;
      if (turn !== this.#turn) return;
      this.#content = { own: changed?.own ?? unchanged(records), others: changed?.others ?? [], next };
      this.#tell(concerns ? ran : null, changed);
      this.#draw();
    } catch (error) {
      if (turn === this.#turn) fill(this.#list, h('p', { class: 'problem' }, explain(error)));
    }
  }

  /** @param {Ran | null} ran @param {import('./changes.js').Changes | null} changed */
  #tell(ran, changed) {
    if (!ran || !changed) return fill(this.#last, h('span', { class: 'note' }, 'No command has touched this key yet.'));
    /** @param {number} count @param {string} verb @param {string} state */
    const count = (count, verb, state) => h('span', { class: `count state-${state}${count === 0 ? ' is-none' : ''}` }, h('b', {}, count), ` ${verb}`);
    fill(this.#last, h('code', { class: 'command' }, ran.args.map(word).join(' ')),
      h('span', { class: 'counts' }, count(changed.read, 'read', 'read'), count(changed.written, 'written', 'written'), count(changed.removed, 'removed', 'removed'),
        h('span', { class: 'count' }, `${ran.ms.toFixed(1)} ms`)));
  }

  #draw() {
    const { own, others, next } = this.#content;
    const isEmpty = own.length === 0;
    fill(this.#list, this.#groups(own), isEmpty && h('p', { class: 'empty' }, this.engine.selected ? 'This key has no records.' : 'Choose a key, or run a command that names one.'),
      next && h('button', { type: 'button', class: 'button quiet', onclick: () => void this.#more() }, 'More records'));
    byId('others').hidden = others.length === 0;
    fill(this.#others, this.#groups(others));
    this.#drawLegend([...own, ...others]);
  }

  async #more() {
    const { engine } = this;
    const { selected, db } = engine;
    if (!selected) return;
    const page = await engine.read(() => engine.database.inspect(db, selected, this.#content.next, PAGE));
    this.#content.own.push(...unchanged(page.records));
    this.#content.next = page.next;
    this.#draw();
  }

  /** Neighbours of one keyspace with the same note, under one heading. @param {Shown[]} all */
  #groups(all) {
    /** @type {Shown[][]} */
    const groups = [];
    for (const shown of all) {
      const first = groups.at(-1)?.[0].record;
      if (first?.keyspace === shown.record.keyspace && first.note === shown.record.note) groups.at(-1)?.push(shown);
      else groups.push([shown]);
    }
    return groups.map((group) => {
      const { keyspace, note } = group[0].record;
      return h('section', { class: 'group' }, h('h3', {}, h('b', {}, keyspace), h('span', {}, note)), h('ol', {}, group.map((shown) => this.#record(shown))));
    });
  }

  /** @param {Shown} shown */
  #record({ record, state, before }) {
    const key = { bytes: record.key, runs: record.keyRuns };
    const value = { bytes: record.value, runs: record.valueRuns };
    const old = before && { bytes: before.value, runs: before.valueRuns };
    const isKnown = record.keyRuns.length > 0;
    return h('li', { class: `record state-${state}` },
      h('div', { class: 'runs' }, h('span', { class: 'part' }, draw(key, this.#asText)),
        h('span', { class: 'part' }, h('span', { class: 'becomes', role: 'img', 'aria-label': 'holds' }, '→'),
          value.bytes.length > 0 ? draw(value, this.#asText, old) : h('span', { class: 'nothing' }, isKnown ? 'empty' : 'not looked at'))),
      h('span', { class: 'state' }, state === 'same' ? '' : state),
      old && h('div', { class: 'part before' }, h('span', { class: 'before-label' }, 'before'), draw(old, this.#asText)));
  }

  /** @param {Shown[]} all */
  #drawLegend(all) {
    const sorts = sortsOf(all.flatMap(({ record }) => [...record.keyRuns, ...record.valueRuns]).map(({ field }) => field));
    byId('legend-box').hidden = sorts.length === 0;
    fill(this.#legend, sorts.map(({ name, meaning }) => h('div', {}, h('dt', { class: `sort-${name}` }, name), h('dd', {}, meaning))));
  }

  /** @param {HTMLButtonElement} button */
  #choose(button) {
    this.#asText = button.value === 'text';
    for (const other of this.#notations()) other.setAttribute('aria-pressed', String(other === button));
    this.#draw();
  }

  #notations() {
    return /** @type {HTMLButtonElement[]} */ (Array.from(document.querySelectorAll('#notation button')));
  }
}

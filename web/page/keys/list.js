// The list of keys: search, selection, and what changes in it.

import { hex, plain, text } from '../bytes.js';
import { byId, fill, h } from '../dom.js';
import { sameKey } from '../engine.js';
import { explain } from '../status/errors.js';
import { confirmDeletion, rename } from './actions.js';
import { sizeInWords, step } from './scan.js';
import { everySecond, left } from './ttl.js';

/** @typedef {import('../engine.js').Engine} Engine */
/** @typedef {import('./scan.js').Key} Key */

// A search that finds little goes on for so many steps, then for more when it is asked to.
const STEPS = 25;
const ENOUGH = 100;
const MOST_REFRESHED = 1000;
const TYPING_MS = 200;
const CHANGING_MS = 120;
const FRESH_MS = 1600;
const MOST_FRESH = 5;

export class KeyList {
  #list = byId('key-list');
  #search = /** @type {HTMLInputElement} */ (byId('key-search'));
  #note = byId('key-note');
  #more = byId('key-more');
  #empty = byId('key-empty');
  /** @type {Map<string, { key: Key, row: HTMLElement }>} */
  #rows = new Map();
  #cursor = '0';
  // A walk that was begun later makes those before it stop.
  #walk = 0;
  #timer = 0;
  /** @type {Set<string>} Rows that were there at the last look, so that new ones are marked. */
  #seen = new Set();

  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
    this.#search.addEventListener('input', () => this.#later(TYPING_MS));
    this.#list.addEventListener('keydown', (event) => this.#key(event));
    this.#list.addEventListener('click', (event) => this.#clicked(event));
    this.#more.addEventListener('click', () => void this.#goOn());
    const scroll = { root: this.#list.parentElement, rootMargin: '300px' };
    new IntersectionObserver(([entry]) => entry.isIntersecting && !this.#more.hidden && void this.#goOn(), scroll).observe(this.#more);
    engine.addEventListener('ran', () => this.#later(CHANGING_MS));
    engine.addEventListener('changed', () => this.#later(CHANGING_MS));
    engine.addEventListener('db', () => this.#restart());
    engine.addEventListener('selected', () => this.#mark());
    everySecond(() => this.#tick());
    void this.#restart();
  }

  /** @param {number} ms */
  #later(ms) {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#refresh(), ms);
  }

  async #restart() {
    this.#seen.clear();
    await this.#refresh();
  }

  /** Walks anew as far as the list went, and shows what has changed. */
  async #refresh() {
    const wanted = Math.min(Math.max(this.#rows.size, ENOUGH), MOST_REFRESHED);
    this.#cursor = '0';
    await this.#go(wanted, new Map());
  }

  #goOn() {
    return this.#go(this.#rows.size + ENOUGH, new Map(Array.from(this.#rows, ([id, { key }]) => [id, key])));
  }

  /** Walks on from the cursor until so many keys are found. @param {number} wanted @param {Map<string, Key>} found */
  async #go(wanted, found) {
    const walk = ++this.#walk;
    const glob = this.#glob();
    this.#more.hidden = true;
    let cursor = this.#cursor;
    try {
      for (let steps = 0; steps < STEPS && found.size < wanted; steps++) {
        const page = await step(this.engine, cursor, glob);
        if (walk !== this.#walk) return;
        for (const key of page.keys) found.set(hex(key.name), key);
        cursor = page.cursor;
        if (cursor === '0') break;
      }
      this.#cursor = cursor;
      this.#show(found);
    } catch (error) {
      this.#note.textContent = explain(error);
    }
  }

  #glob() {
    const typed = this.#search.value.trim();
    if (typed === '') return '*';
    return /[*?[\]]/.test(typed) ? typed : `*${typed}*`;
  }

  /** @param {Map<string, Key>} found */
  #show(found) {
    const isFirst = this.#seen.size === 0;
    const rows = new Map();
    const added = [];
    for (const [id, key] of found) {
      const row = this.#rows.get(id)?.row ?? this.#row(id);
      this.#fill(row, key);
      if (!isFirst && !this.#seen.has(id)) added.push(row);
      rows.set(id, { key, row });
    }
    // Of many at once, none stands out.
    if (added.length <= MOST_FRESH) added.forEach(fresh);
    this.#rows = rows;
    this.#seen = new Set([...rows.keys(), '']);
    const elements = Array.from(rows.values(), ({ row }) => row);
    const isSame = elements.length === this.#list.childElementCount && elements.every((row, position) => row === this.#list.children[position]);
    if (!isSame) fill(this.#list, elements);
    const hasMore = this.#cursor !== '0';
    this.#more.hidden = !hasMore;
    this.#note.textContent = rows.size > 0 ? this.#inWords(rows.size, hasMore) : '';
    this.#empty.hidden = rows.size > 0 || hasMore;
    this.#empty.textContent = this.#search.value.trim() ? 'No key matches.' : 'No keys yet. Run an example, or SET one.';
    this.#mark();
  }

  /** @param {number} count @param {boolean} hasMore */
  #inWords(count, hasMore) {
    const found = this.#search.value.trim() !== '';
    return `${count.toLocaleString('en-US')}${hasMore ? ' or more' : ''} key${count === 1 && !hasMore ? '' : 's'}${found ? ' found' : ''}`;
  }

  /** @param {string} id */
  #row(id) {
    return h('li', { id: `key-${id}`, class: 'key', role: 'option', 'aria-selected': 'false' },
      h('span', { class: 'badge' }), h('span', { class: 'name' }), h('span', { class: 'size' }), h('span', { class: 'ttl' }));
  }

  /** @param {HTMLElement} row @param {Key} key */
  #fill(row, key) {
    const [badge, name, size, ttl] = Array.from(row.children, (child) => /** @type {HTMLElement} */ (child));
    badge.dataset.type = key.type;
    write(badge, key.type);
    write(name, plain(key.name));
    name.title = text(key.name) ?? hex(key.name);
    write(ttl, key.expiresAt === null ? '' : left(key.expiresAt));
    write(size, sizeInWords(key));
  }

  #mark() {
    const { selected } = this.engine;
    this.#list.removeAttribute('aria-activedescendant');
    for (const { key, row } of this.#rows.values()) {
      const isSelected = sameKey(selected, key.name);
      row.setAttribute('aria-selected', String(isSelected));
      if (isSelected) this.#list.setAttribute('aria-activedescendant', row.id);
    }
  }

  #tick() {
    let isOver = false;
    for (const { key, row } of this.#rows.values()) {
      if (key.expiresAt === null) continue;
      write(row.children[3], left(key.expiresAt));
      isOver ||= key.expiresAt < Date.now();
    }
    if (isOver) this.engine.changed();
  }

  /** @param {MouseEvent} event */
  #clicked(event) {
    const row = event.target instanceof Element ? event.target.closest('[role=option]') : null;
    const entry = row && this.#rows.get(row.id.slice('key-'.length));
    if (entry) this.engine.choose(entry.key.name);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const entries = Array.from(this.#rows.values());
    const at = entries.findIndex(({ key }) => sameKey(this.engine.selected, key.name));
    const last = entries.length - 1;
    const moves = new Map([['ArrowDown', Math.min(at + 1, last)], ['ArrowUp', Math.max(at - 1, 0)], ['Home', 0], ['End', last]]);
    const to = moves.get(event.key);
    if (to !== undefined && entries[to]) {
      this.engine.choose(entries[to].key.name);
      entries[to].row.scrollIntoView({ block: 'nearest' });
    } else if (event.key === 'Delete' && at >= 0) void confirmDeletion(this.engine, entries[at].key.name);
    else if (event.key === 'F2' && at >= 0) void rename(this.engine, entries[at].key.name);
    else return;
    event.preventDefault();
  }
}

/** Writes only what is new, so that nothing is laid out again. @param {Element} element @param {string} value */
function write(element, value) {
  if (element.textContent !== value) element.textContent = value;
}

/** @param {HTMLElement} row */
function fresh(row) {
  row.classList.add('is-fresh');
  setTimeout(() => row.classList.remove('is-fresh'), FRESH_MS);
}

// The guide: one example at a time, one step at a time.

import { byId, fill, h } from '../dom.js';
import { EXAMPLES } from './examples.js';

/** @typedef {import('../terminal/terminal.js').Terminal} Terminal */

export class Guide {
  #tabs = byId('examples');
  #step = byId('step');
  #example = EXAMPLES[0];
  #at = 0;
  // Steps that were run, by their position.
  #done = new Set();

  /** @param {Terminal} terminal */
  constructor(terminal) {
    this.terminal = terminal;
    fill(this.#tabs, EXAMPLES.map((example) => {
      const tab = h('button', { type: 'button', class: 'segment' }, example.name);
      tab.addEventListener('click', () => this.#begin(example));
      return tab;
    }));
    this.#begin(this.#example);
  }

  /** @param {import('./examples.js').Example} example */
  #begin(example) {
    this.#example = example;
    this.#at = 0;
    this.#done.clear();
    for (const tab of this.#tabs.children) tab.setAttribute('aria-pressed', String(tab.textContent === example.name));
    this.#draw();
  }

  /** @param {number} at */
  #go(at) {
    this.#at = at;
    this.#draw();
    /** @type {HTMLElement | null} */ (this.#step.querySelector('.run'))?.focus();
  }

  async #run() {
    const at = this.#at;
    const example = this.#example;
    // The first step finds an empty place, also when the example is run again.
    if (at === 0) await this.terminal.engine.browse.ask('DEL', ...example.keys);
    await this.terminal.enter(example.steps[at].command);
    if (example !== this.#example) return;
    this.#done.add(at);
    this.#draw();
    /** @type {HTMLElement | null} */ (this.#step.querySelector('.next'))?.focus();
  }

  #draw() {
    const { steps, keys } = this.#example;
    const { say, command, look } = steps[this.#at];
    const isDone = this.#done.has(this.#at);
    const isLast = this.#at === steps.length - 1;
    const next = isLast
      ? h('button', { type: 'button', class: 'button next', onclick: () => void this.#startOver(keys) }, 'Start over')
      : h('button', { type: 'button', class: `button next${isDone ? ' primary' : ''}`, onclick: () => this.#go(this.#at + 1) }, 'Next');
    fill(this.#step,
      h('p', { class: 'say' }, h('span', { class: 'step-number' }, `${this.#at + 1} of ${steps.length}`), say),
      h('div', { class: 'step-run' },
        h('button', { type: 'button', class: `button run${isDone ? '' : ' primary'}`, onclick: () => void this.#run() },
          h('span', {}, isDone ? 'Again' : 'Run'), h('code', {}, command)),
        next),
      h('p', { class: 'look', 'aria-live': 'polite' }, isDone ? look : '\u00a0'),
      h('div', { class: 'dots' }, steps.map((_, position) => h('button', {
        type: 'button',
        class: `dot${this.#done.has(position) ? ' is-done' : ''}`,
        'aria-label': `Step ${position + 1}`,
        'aria-current': position === this.#at ? 'step' : null,
        onclick: () => this.#go(position),
      }))));
  }

  /** @param {string[]} keys */
  async #startOver(keys) {
    await this.terminal.enter(`DEL ${keys.join(' ')}`);
    this.#begin(this.#example);
    /** @type {HTMLElement | null} */ (this.#step.querySelector('.run'))?.focus();
  }
}

// The line that is typed: completion, hints, history, and what was pasted.

import { h, fill } from '../dom.js';
import { candidates } from './completion.js';
import { rest, syntax } from './hints.js';
import { History } from './history.js';

/** @typedef {import('./hints.js').Known} Known */

export class Line {
  #history = new History();
  /** @type {{ name: string, summary: string }[]} */
  #candidates = [];
  #chosen = -1;

  /**
   * @param {{ input: HTMLInputElement, typed: HTMLElement, hint: HTMLElement, list: HTMLElement }} elements
   * @param {Known[]} commands
   * @param {{ enter: (line: string) => void, interrupt: () => void, clear: () => void }} on
   */
  constructor(elements, commands, on) {
    this.elements = elements;
    this.commands = commands;
    this.on = on;
    const { input } = elements;
    input.addEventListener('input', () => this.#typed());
    input.addEventListener('scroll', () => this.#showHint());
    input.addEventListener('keydown', (event) => this.#key(event));
    input.addEventListener('paste', (event) => this.#paste(event));
    input.addEventListener('blur', () => this.#close());
  }

  /** @param {string} value */
  set(value) {
    const { input } = this.elements;
    input.value = value;
    input.setSelectionRange(value.length, value.length);
    this.#close();
    this.#showHint();
  }

  focus() {
    this.elements.input.focus();
  }

  enter() {
    const line = this.elements.input.value;
    this.set('');
    if (line.trim() !== '') this.#history.add(line);
    this.on.enter(line);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const { input } = this.elements;
    const open = this.#candidates.length > 0;
    const handlers = new Map([
      ['Enter', () => this.enter()],
      ['Tab', () => this.#complete(event.shiftKey ? -1 : 1)],
      ['Escape', () => this.#close()],
      ['ArrowUp', () => (open && this.#chosen >= 0 ? this.#complete(-1) : this.set(this.#history.back(input.value)))],
      ['ArrowDown', () => (open && this.#chosen >= 0 ? this.#complete(1) : this.set(this.#history.forward(input.value)))],
    ]);
    const controls = new Map([
      ['l', () => this.on.clear()],
      ['c', () => this.#interrupt()],
      ['r', () => this.set(this.#history.find(input.value) ?? input.value)],
      ['u', () => this.set(input.value.slice(input.selectionStart ?? 0))],
    ]);
    const handler = event.ctrlKey ? controls.get(event.key.toLowerCase()) : handlers.get(event.key);
    // Tab with nothing to complete moves on through the page, as everywhere; so does Escape where nothing is open.
    if (!handler || (['Tab', 'Escape'].includes(event.key) && !open)) return;
    if (event.ctrlKey && event.key.toLowerCase() === 'c' && hasSelection(input)) return;
    event.preventDefault();
    handler();
  }

  #interrupt() {
    this.set('');
    this.on.interrupt();
  }

  #typed() {
    this.#candidates = candidates(this.commands, this.elements.input.value);
    this.#chosen = -1;
    this.#showList();
    this.#showHint();
  }

  /** @param {number} step */
  #complete(step) {
    const count = this.#candidates.length;
    this.#chosen = this.#chosen < 0 ? (step > 0 ? 0 : count - 1) : (this.#chosen + step + count) % count;
    this.#take(this.#chosen);
    if (count === 1) this.#close();
  }

  /** @param {number} position */
  #take(position) {
    this.elements.input.value = `${this.#candidates[position].name.toUpperCase()} `;
    this.#showList();
    this.#showHint();
  }

  #close() {
    this.#candidates = [];
    this.#chosen = -1;
    this.#showList();
  }

  #showList() {
    const { input, list } = this.elements;
    fill(list, this.#candidates.map(({ name, summary }, position) => {
      const option = h('li', { id: `completion-${position}`, role: 'option', 'aria-selected': position === this.#chosen },
        h('b', {}, name.toUpperCase()), h('span', {}, summary));
      // Before the field loses the focus.
      option.addEventListener('pointerdown', (event) => {
        event.preventDefault();
        this.#take(position);
        this.#close();
      });
      return option;
    }));
    list.hidden = this.#candidates.length === 0;
    // Above the line, unless there is more room below.
    const { top } = input.getBoundingClientRect();
    list.classList.toggle('is-below', top < innerHeight / 2);
    input.setAttribute('aria-expanded', String(!list.hidden));
    if (this.#chosen >= 0) input.setAttribute('aria-activedescendant', `completion-${this.#chosen}`);
    else input.removeAttribute('aria-activedescendant');
  }

  #showHint() {
    const { input, typed, hint } = this.elements;
    // A line that is longer than the field scrolls; what stands behind it is not in view.
    const fits = input.scrollWidth <= input.clientWidth;
    typed.textContent = fits ? input.value : '';
    hint.textContent = fits ? this.#hint(input.value) : '';
  }

  /** @param {string} line */
  #hint(line) {
    const words = line.trimStart().split(/\s+/);
    const whole = words.slice(0, -1);
    const [first, second] = whole.map((word) => word.toLowerCase());
    const command = this.commands.find(({ name }) => name === first);
    if (!command) return '';
    const subcommand = command.subcommands.find(({ name }) => name === `${first} ${second}`);
    const left = subcommand ? rest(syntax(command, subcommand.name), whole.slice(2)) : rest(syntax(command), whole.slice(1));
    return words.at(-1) === '' ? left : '';
  }

  /** Lines are run one behind the other; what stands behind the last line end stays to be edited. @param {ClipboardEvent} event */
  #paste(event) {
    const pasted = event.clipboardData?.getData('text/plain') ?? '';
    if (!/[\r\n]/.test(pasted)) return;
    event.preventDefault();
    const { input } = this.elements;
    const [start, end] = [input.selectionStart ?? 0, input.selectionEnd ?? 0];
    const lines = (input.value.slice(0, start) + pasted + input.value.slice(end)).split(/\r\n|[\r\n]/);
    for (const line of lines.slice(0, -1)) {
      this.set(line);
      this.enter();
    }
    this.set(lines.at(-1) ?? '');
  }
}

/** @param {HTMLInputElement} input */
const hasSelection = (input) => input.selectionStart !== input.selectionEnd || !(document.getSelection()?.isCollapsed ?? true);

// The terminal: lines in, replies out.

import { text, utf8 } from '../bytes.js';
import { Connection } from '../connection.js';
import { byId, fill, h } from '../dom.js';
import { explain } from '../status/errors.js';
import { help } from './help.js';
import { Line } from './line.js';
import { split } from './quoting.js';
import { isRaw, show } from './reply.js';

/** @typedef {import('../engine.js').Engine} Engine */
/** @typedef {import('../resp.js').Node} Node */

const MOST_ENTRIES = 400;
const SLOW_MS = 400;

export class Terminal {
  #screen = byId('screen');
  #prompt = byId('prompt');
  #busy = byId('busy');
  /** Lines that were entered and are not answered. */
  #waiting = 0;
  #inTransaction = false;
  // Lines wait for those before them.
  #turn = Promise.resolve();
  /** How often Ctrl+C has thrown away what waits. */
  #interrupts = 0;

  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
    this.connection = new Connection(engine.database);
    this.line = new Line(
      { input: /** @type {HTMLInputElement} */ (byId('command')), typed: byId('typed'), hint: byId('hint'), list: byId('completions') },
      engine.commands,
      { enter: (line) => void this.enter(line), interrupt: () => void this.#interrupt(), clear: () => fill(this.#screen) },
    );
    this.connection.onmessage = (message) => this.#print(h('div', { class: 'reply' }, show(message)));
    this.connection.onlost = (reason) => this.#lost(reason);
    // Clicks into the terminal go to its line, but for those that select text.
    this.#screen.addEventListener('click', () => document.getSelection()?.isCollapsed && this.line.focus());
    this.#showPrompt();
  }

  /** Runs a line when those before it are done; resolves when its reply is shown. @param {string} line @returns {Promise<void>} */
  enter(line) {
    const interrupts = this.#interrupts;
    const turn = this.#turn.then(() => (interrupts === this.#interrupts ? this.#run(line) : undefined)).finally(() => this.#wait(-1));
    this.#turn = turn;
    this.#wait(1);
    return turn;
  }

  /** @param {number} change */
  #wait(change) {
    this.#waiting += change;
    this.#screen.dataset.waiting = String(this.#waiting);
  }

  /** @param {string} line */
  async #run(line) {
    this.#print(h('div', { class: 'entered' }, h('span', { class: 'prompt' }, this.#promptText()), ' ', line));
    const args = split(line);
    if (!args) return this.#fail('Invalid argument(s)');
    if (args.length === 0) return;
    const words = args.map((arg) => text(arg) ?? '');
    const names = words.map((word) => word.toLowerCase());
    if (names[0] === 'clear') return fill(this.#screen);
    if (names[0] === 'help' || names[0] === '?') return this.#print(h('div', { class: 'reply' }, help(this.engine.commands, words.slice(1))));
    const busy = setTimeout(() => (this.#busy.hidden = false), SLOW_MS);
    try {
      const reply = await this.engine.run(args, this.connection);
      this.#print(h('div', { class: 'reply' }, show(reply, isRaw(names))));
      await this.#follow(names, reply);
    } catch (error) {
      this.#fail(explain(error));
    } finally {
      clearTimeout(busy);
      this.#busy.hidden = true;
      this.#showPrompt();
    }
  }

  /** Keeps in mind what the connection is in. @param {string[]} names @param {Node} reply */
  async #follow(names, reply) {
    if (reply.kind === 'error' && names[0] !== 'exec') return;
    if (names[0] === 'multi') this.#inTransaction = true;
    if (['exec', 'discard', 'reset'].includes(names[0])) this.#inTransaction = false;
    if (names[0] === 'reset' || (names[0] === 'select' && !this.#inTransaction)) {
      this.connection.selected(names[0] === 'reset' ? 0 : Number(names[1]));
      await this.engine.select(this.connection.db);
    }
  }

  /** Goes to a db that was chosen elsewhere on the page. @param {number} db */
  async goTo(db) {
    await this.connection.select(db);
    this.#showPrompt();
  }

  async #interrupt() {
    this.#interrupts++;
    if (!this.#busy.hidden) await this.engine.browse.ask('CLIENT', 'UNBLOCK', Number(this.connection.id));
    if (this.connection.subscriptions === 0) return;
    for (const command of ['UNSUBSCRIBE', 'PUNSUBSCRIBE', 'SUNSUBSCRIBE']) await this.connection.send([utf8(command)]);
    this.#showPrompt();
  }

  /** @param {string} reason */
  #lost(reason) {
    this.#inTransaction = false;
    this.#showPrompt();
    this.#print(h('div', { class: 'reply reply-nil' }, `(${reason}; the next command opens a new connection)`));
  }

  #promptText() {
    const db = this.engine.db === 0 ? '' : `[${this.engine.db}]`;
    const mode = this.connection.subscriptions > 0 ? '(subscribed mode)' : this.#inTransaction ? '(TX)' : '';
    return `orbweaver${db}${mode}>`;
  }

  #showPrompt() {
    this.#prompt.textContent = this.#promptText();
  }

  /** @param {string} message */
  #fail(message) {
    this.#print(h('div', { class: 'reply reply-error' }, message));
  }

  /** @param {HTMLElement} entry */
  #print(entry) {
    this.#screen.append(entry);
    while (this.#screen.childElementCount > MOST_ENTRIES) this.#screen.firstElementChild?.remove();
    this.#screen.scrollTop = this.#screen.scrollHeight;
  }
}


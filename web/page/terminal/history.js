// The lines that were entered, kept over reloads.

const KEY = 'orbweaver.history';
const MOST = 500;

export class History {
  /** @type {string[]} */
  #lines = [];
  #at = 0;
  #draft = '';

  constructor() {
    try {
      this.#lines = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    } catch {
      // Storage is closed to this page, or holds something else: the history begins anew.
    }
    this.#at = this.#lines.length;
  }

  /** @param {string} line */
  add(line) {
    if (line !== this.#lines.at(-1)) this.#lines.push(line);
    this.#lines = this.#lines.slice(-MOST);
    this.#at = this.#lines.length;
    try {
      localStorage.setItem(KEY, JSON.stringify(this.#lines));
    } catch {
      // It lasts as long as the page.
    }
  }

  /** The line before; `current` comes back when one goes forward again. @param {string} current */
  back(current) {
    if (this.#at === this.#lines.length) this.#draft = current;
    this.#at = Math.max(0, this.#at - 1);
    return this.#lines[this.#at] ?? current;
  }

  /** @param {string} current */
  forward(current) {
    if (this.#at >= this.#lines.length) return current;
    this.#at++;
    return this.#lines[this.#at] ?? this.#draft;
  }

  /** The latest line that holds `part`, the search of Ctrl+R. @param {string} part */
  find(part) {
    return this.#lines.findLast((line) => line.includes(part)) ?? null;
  }
}

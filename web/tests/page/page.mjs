// The page under test: opened in Chromium, driven by clicks and keys.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Chromium } from '../chromium.mjs';

const WAIT_MS = 15_000;
const POLL_MS = 25;

/** A browser for the tests of a file. */
export class Pages {
  static async start() {
    const pages = new Pages();
    pages.chromium = await Chromium.start();
    return pages;
  }

  get url() {
    return `${this.chromium.origin}/`;
  }

  /** The page in a new tab, ready. Nothing is left of the tests before, unless it is to be kept. */
  async open({ width = 1440, height = 900, scheme = 'light', keep = false, prepare = async () => {} } = {}) {
    const tab = await this.chromium.browser.newPage();
    await prepare(tab);
    const page = new Page(tab);
    await tab.setViewportSize({ width, height });
    await tab.emulateMedia({ colorScheme: scheme });
    await tab.goto(this.url);
    await page.ready();
    if (!keep) {
      await page.enter('FLUSHALL', 'CLEAR');
      await page.waitFor(() => document.querySelectorAll('#key-list li').length === 0);
    }
    return page;
  }

  close() {
    return this.chromium.close();
  }
}

export class Page {
  /** What the page has thrown or reported as an error. */
  errors = [];

  constructor(tab) {
    this.tab = tab;
    tab.on('pageerror', (error) => this.errors.push(String(error.stack ?? error)));
    tab.on('console', (message) => message.type() === 'error' && this.errors.push(message.text()));
  }

  ready() {
    return this.tab.waitForSelector('html[data-ready]', { timeout: WAIT_MS });
  }

  /** Types lines into the terminal, one after the other; resolves when the last one is answered. */
  async enter(...lines) {
    for (const line of lines) {
      await this.tab.fill('#command', line);
      await this.tab.press('#command', 'Enter');
    }
    await this.waitFor(() => document.querySelector('#screen').dataset.waiting === '0');
  }

  /** What the terminal shows. */
  screen() {
    return this.tab.locator('#screen').innerText();
  }

  /** The reply to one line. */
  async reply(line) {
    await this.enter('CLEAR', line);
    return (await this.screen()).split('\n').slice(1).join('\n');
  }

  /** Waits until a function, run in the page, returns something. */
  waitFor(inPage, argument) {
    return this.tab.waitForFunction(inPage, argument, { timeout: WAIT_MS, polling: POLL_MS });
  }

  /** Waits until an element's text holds a part. */
  waitForText(selector, part) {
    return this.waitFor(([selector, part]) => document.querySelector(selector)?.textContent.includes(part), [selector, part]);
  }

  /** The texts of all elements that match. */
  texts(selector) {
    return this.tab.locator(selector).allInnerTexts();
  }

  /** Chooses a key in the list. */
  async choose(name) {
    await this.tab.locator('#key-list li', { has: this.tab.locator('.name', { hasText: new RegExp(`^${name}$`) }) }).click();
    await this.waitForText('#selected-name', name);
  }

  async close() {
    assert.deepEqual(this.errors, []);
    await this.tab.close();
  }
}

/** Asks until the answer is as expected, or time is up; the last failure is thrown. */
export async function eventually(check, waitMs = WAIT_MS) {
  for (const end = Date.now() + waitMs; ;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
      await sleep(POLL_MS);
    }
  }
}

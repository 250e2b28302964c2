// Chromium for the tests: Debian's, without a window, on a profile of its own.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { env } from 'node:process';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { serve } from '../serve.mjs';

const here = dirname(fileURLToPath(import.meta.url));

/** What `cargo xtask web` has built. */
export const dist = env.ORBWEAVER_WEB ?? join(here, '../../dist/web');

const ARGUMENTS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
  '--disable-sync',
];

/** A browser, and a server for `dist` and for the pages of the tests. Ends with `close()`. */
export class Chromium {
  static async start() {
    const started = new Chromium();
    started.profile = await mkdtemp(join(tmpdir(), 'orbweaver-chromium-'));
    started.server = await serve({
      '/': dist,
      '/tests/': join(here, 'pages'),
      '/bench/': join(here, '../bench'),
      '/built/': join(dist, '../tests'),
      '/runtimes/': join(here, '../../plugins/runtimes'),
      '/wasi/': join(here, '../node_modules/@bytecodealliance/preview2-shim/dist/browser'),
    });
    started.origin = `http://127.0.0.1:${started.server.address().port}`;
    await started.launch();
    return started;
  }

  /** Starts the browser, again where it has ended, on the same profile. */
  async launch() {
    this.browser = await chromium.launchPersistentContext(this.profile, {
      executablePath: env.ORBWEAVER_CHROMIUM ?? '/usr/bin/chromium', headless: true, args: ARGUMENTS,
    });
  }

  /** A tab on a page of the tests, with what it prints and what fails in it on our own output. */
  async page(name = 'blank.html') {
    const page = await this.browser.newPage();
    page.on('console', (message) => console.log(`[page] ${message.text()}`));
    page.on('pageerror', (error) => console.log(`[page] ${error.stack ?? error}`));
    await page.goto(`${this.origin}/tests/${name}`);
    await page.waitForFunction(() => globalThis.isReady);
    return page;
  }

  async close() {
    await this.browser.close();
    this.server.close();
    this.server.closeAllConnections();
    await rm(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

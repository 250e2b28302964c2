// The page for everybody: with a keyboard alone, on a phone, in both themes, with enough contrast, and standing still.

import assert from 'node:assert/strict';
import { mkdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { dist } from '../chromium.mjs';
import { Pages, eventually } from './page.mjs';

/** Where the screenshots are left. */
const SHOTS = join(dist, '../screenshots');
const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PHONE = { width: 390, height: 844 };

let pages;
before(async () => {
  await mkdir(SHOTS, { recursive: true });
  pages = await Pages.start();
});
after(() => pages.close());

const DATA = [
  'SET page:home "<h1>Hello</h1>" EX 3600', 'HSET user:1 name Ada born 1815', 'RPUSH jobs mail:1 mail:2 thumbnail:3', 'SADD tags red green blue',
  'HGETALL user:1', 'LPUSH tags x', 'CLEAR', 'LRANGE jobs 0 -1', 'INCR tags',
];

/** A page that shows something of everything. */
async function full(options) {
  const page = await pages.open(options);
  await page.enter(...DATA);
  // The first two steps of an example.
  await page.tab.click('.run');
  await page.waitForText('.run', 'Again');
  await page.tab.click('.next');
  await page.tab.click('.run');
  await page.waitForText('#key-note', '5 keys');
  await page.waitForText('#record-list', 'before');
  await page.tab.mouse.move(0, 0);
  return page;
}

/** What axe finds wrong. */
async function findings(page) {
  await page.tab.evaluate(AXE);
  // Nothing is judged while it fades in or out.
  await page.tab.evaluate(() => Promise.allSettled(document.getAnimations().map((animation) => animation.finished)));
  const { violations } = await page.tab.evaluate(() => axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
}

for (const scheme of ['light', 'dark']) {
  test(`the page in ${scheme} is accessible by axe's rules, contrast included`, async () => {
    const page = await full({ scheme, width: 1280, height: 800 });
    assert.deepEqual(await findings(page), []);
    await page.tab.screenshot({ path: join(SHOTS, `${scheme}.png`) });
    await page.tab.click('#tab-value');
    await page.waitForText('#panel-value', 'member');
    assert.deepEqual(await findings(page), []);
    await page.tab.click('#do-expire');
    assert.deepEqual(await findings(page), []);
    await page.close();
  });

  test(`a phone in ${scheme} shows one part at a time, and nothing is wider than it`, async () => {
    const page = await full({ scheme, ...PHONE });
    for (const part of ['work', 'keys', 'detail']) {
      await page.tab.click(`[data-show=${part}]`);
      assert.deepEqual(await page.tab.locator('.pane:visible').evaluateAll((panes) => panes.map(({ id }) => id)), [part]);
      assert.equal(await page.tab.evaluate(() => document.documentElement.scrollWidth), PHONE.width);
      assert.deepEqual(await findings(page), []);
      await page.tab.screenshot({ path: join(SHOTS, `phone-${scheme}-${part}.png`) });
    }
    await page.close();
  });
}

test('the theme is chosen on the page, and kept', async () => {
  const page = await pages.open({ scheme: 'light' });
  const background = () => page.tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.tab.click('#theme');
  assert.equal(await page.tab.locator('#theme').innerText(), 'Theme: light');
  await page.tab.click('#theme');
  const dark = await background();
  assert.notEqual(dark, light);
  await page.tab.reload();
  await page.ready();
  assert.equal(await background(), dark);
  await page.tab.click('#theme');
  assert.equal(await background(), light);
  await page.close();
});

test('Tab reaches everything in the order in which it is read, and always shows where it is', async () => {
  const page = await full();
  await page.tab.focus('.skip');
  const stops = [];
  for (let at = 0; at < 80; at++) {
    const stop = await page.tab.evaluate(() => {
      const { activeElement: element } = document;
      if (element === document.body) return null;
      const style = getComputedStyle(element);
      const line = element.closest('.line');
      const isShown = (style.outlineStyle !== 'none' && Number.parseFloat(style.outlineWidth) > 0) || (line && getComputedStyle(line).boxShadow !== 'none');
      return { name: element.id || element.className || element.textContent, isShown };
    });
    if (!stop || stops.some(({ name }) => name === 'skip' && stop.name === 'skip')) break;
    stops.push(stop);
    await page.tab.keyboard.press('Tab');
  }
  assert.deepEqual(stops.filter(({ isShown }) => !isShown), []);
  const order = ['skip', 'db', 'import', 'export', 'sample', 'theme', 'key-search', 'key-list', 'screen', 'command', 'do-rename', 'do-delete', 'tab-records', 'panel-records'];
  const names = stops.map(({ name }) => name);
  assert.deepEqual(names.filter((name) => order.includes(name)), order);
  await page.close();
});

test('an example, a key and its deletion need no pointer', async () => {
  const page = await pages.open();
  const { keyboard } = page.tab;
  await page.tab.focus('.step-run .run');
  await keyboard.press('Enter');
  await page.waitForText('.step-run .run', 'Again');
  // The focus is on "Next" then.
  await keyboard.press('Enter');
  await page.waitForText('.step-number', '2 of 6');
  await keyboard.press('Enter');
  await page.waitForText('#last-command', 'ZADD scores GT');
  await page.waitForText('#key-note', '1 key');
  await page.tab.focus('#key-list');
  await keyboard.press('Home');
  await keyboard.press('Delete');
  await page.waitForText('dialog', 'scores');
  await keyboard.press('Tab');
  await keyboard.press('Enter');
  await eventually(async () => assert.deepEqual(await page.texts('#key-list li'), []));
  await page.close();
});

test('nothing moves by itself while the page loads, and while commands run', async () => {
  const page = await pages.open();
  await page.tab.reload();
  await page.ready();
  const start = page.tab.evaluate(() => new Promise((resolve) => {
    const shifts = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) shifts.push({ value: entry.value, what: entry.sources.map(({ node }) => node?.id || node?.className || String(node)) });
    }).observe({ type: 'layout-shift', buffered: true });
    setTimeout(() => resolve(shifts), 1500);
  }));
  const shifts = await start;
  const sum = shifts.reduce((sum, { value }) => sum + value, 0);
  assert.ok(sum < 0.01, JSON.stringify(shifts));
  await page.close();
});

test('nothing is asked of other origins', async () => {
  const page = await pages.open();
  const asked = [];
  page.tab.on('request', (request) => asked.push(new URL(request.url()).origin));
  await page.tab.reload();
  await page.ready();
  assert.deepEqual([...new Set(asked)], [pages.chromium.origin]);
  await page.close();
});

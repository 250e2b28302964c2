// The guided examples, click by click.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Pages, eventually } from './page.mjs';

let pages;
before(async () => { pages = await Pages.start(); });
after(() => pages.close());

const STEPS = 6;

for (const name of ['Leaderboard', 'Queue', 'Cache']) {
  test(`the example ${name} runs from an empty page to its end, and again`, async () => {
    const page = await pages.open();
    await page.tab.click(`#examples >> text=${name}`);
    for (let round = 0; round < 2; round++) {
      for (let step = 1; step <= STEPS; step++) {
        await page.waitForText('.step-number', `${step} of ${STEPS}`);
        const command = await page.tab.locator('.step-run code').innerText();
        await page.tab.click('.step-run .run');
        await page.waitForText('.step-run .run', 'Again');
        await page.waitForText('#last-command', command.split(' ')[0]);
        assert.equal(await page.tab.locator('#screen .reply-error').count(), 0, await page.screen());
        assert.ok((await page.tab.locator('.look').innerText()).length > 20);
        // Each step touches something that can be seen.
        await eventually(async () => assert.ok(await page.tab.locator('#record-list .record:not(.state-same)').count() > 0, command));
        await page.tab.click('.step-run .next');
      }
    }
    await page.close();
  });
}

test('a step is chosen by its dot', async () => {
  const page = await pages.open();
  await page.tab.click('.dot >> nth=2');
  await page.waitForText('.step-number', `3 of ${STEPS}`);
  assert.equal(await page.tab.locator('.dot[aria-current=step]').getAttribute('aria-label'), 'Step 3');
  await page.close();
});

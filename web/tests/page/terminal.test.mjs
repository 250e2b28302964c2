// The terminal, driven by keys.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Pages, eventually } from './page.mjs';

let pages;
before(async () => { pages = await Pages.start(); });
after(() => pages.close());

test('replies have the notation of redis-cli', async () => {
  const page = await pages.open();
  assert.equal(await page.reply('SET greeting hello'), 'OK');
  assert.equal(await page.reply('GET greeting'), '"hello"');
  assert.equal(await page.reply('GET nothing'), '(nil)');
  assert.equal(await page.reply('RPUSH list a "b c" "d\\x00\\n"'), '(integer) 3');
  assert.equal(await page.reply('LRANGE list 0 -1'), '1) "a"\n2) "b c"\n3) "d\\x00\\n"');
  assert.equal(await page.reply('SMEMBERS nothing'), '(empty array)');
  assert.equal(await page.reply('LPUSH greeting x'), '(error) WRONGTYPE Operation against a key holding the wrong kind of value');
  await page.close();
});

test('nested replies are numbered and indented', async () => {
  const page = await pages.open();
  await page.enter('MULTI', 'RPUSH l a b', 'LRANGE l 0 -1', 'GET x');
  assert.equal(await page.reply('EXEC'), '1) (integer) 2\n2) 1) "a"\n   2) "b"\n3) (nil)');
  await page.close();
});

test('RESP3 shows maps, sets and doubles as redis-cli does', async () => {
  const page = await pages.open();
  await page.enter('HELLO 3', 'HSET h a 1 b 2', 'SADD s m', 'ZADD z 1.5 m');
  assert.equal(await page.reply('HGETALL h'), '1# "a" => "1"\n2# "b" => "2"');
  assert.equal(await page.reply('SMEMBERS s'), '1~ "m"');
  assert.equal(await page.reply('ZSCORE z m'), '(double) 1.5');
  await page.close();
});

test('errors are red, and a quote that is not closed is one', async () => {
  const page = await pages.open();
  assert.equal(await page.reply('SET a "b'), 'Invalid argument(s)');
  await page.enter('NOSUCHCOMMAND');
  const red = page.tab.locator('#screen .reply-error').last();
  assert.match(await red.innerText(), /unknown command/);
  const color = await red.evaluate((element) => getComputedStyle(element).color);
  assert.equal(color, 'rgb(179, 38, 30)');
  await page.close();
});

test('Tab completes names of commands and of subcommands', async () => {
  const page = await pages.open();
  await page.tab.locator('#command').pressSequentially('hgeta');
  await page.waitForText('#completions', 'HGETALL');
  await page.tab.keyboard.press('Tab');
  assert.equal(await page.tab.inputValue('#command'), 'HGETALL ');
  await page.tab.fill('#command', '');
  await page.tab.locator('#command').pressSequentially('config g');
  await page.waitForText('#completions', 'CONFIG GET');
  await page.tab.keyboard.press('Tab');
  assert.equal(await page.tab.inputValue('#command'), 'CONFIG GET ');
  await page.close();
});

test('hints tell what may follow, less what is there', async () => {
  const page = await pages.open();
  const hint = async (line) => {
    await page.tab.fill('#command', line);
    return page.tab.locator('#hint').innerText();
  };
  assert.equal(await hint('HSET '), 'key field value [field value ...]');
  assert.equal(await hint('HSET user '), 'field value [field value ...]');
  assert.equal(await hint('GETEX k EX 10 '), '');
  assert.match(await hint('SET k v NX '), /^\[GET\] \[EX seconds/);
  assert.equal(await hint('CONFIG GET '), 'parameter [parameter ...]');
  await page.close();
});

test('every command that takes arguments has a syntax, and none is left over', async () => {
  const page = await pages.open();
  const { missing, stale } = await page.tab.evaluate(async () => {
    const { open } = await import('orbweaver');
    const { SYNTAX } = await import('./terminal/syntax.js');
    const { syntax } = await import('./terminal/hints.js');
    const database = await open({ name: 'syntax' });
    const commands = await database.commands();
    await database.close();
    const names = new Set(commands.flatMap(({ name, subcommands }) => [name, ...subcommands.map((subcommand) => subcommand.name)]));
    return {
      missing: commands.filter((command) => Math.abs(command.arity) !== 1 && syntax(command) === '').map(({ name }) => name),
      stale: Object.keys(SYNTAX).filter((name) => !names.has(name)),
    };
  });
  assert.deepEqual({ missing, stale }, { missing: [], stale: [] });
  await page.close();
});

test('lines come back with the arrow keys, also after a reload', async () => {
  const page = await pages.open();
  await page.enter('SET first 1', 'SET second 2');
  await page.tab.reload();
  await page.ready();
  await page.tab.fill('#command', 'draft');
  for (const expected of ['SET second 2', 'SET first 1']) {
    await page.tab.press('#command', 'ArrowUp');
    assert.equal(await page.tab.inputValue('#command'), expected);
  }
  await page.tab.press('#command', 'ArrowDown');
  await page.tab.press('#command', 'ArrowDown');
  assert.equal(await page.tab.inputValue('#command'), 'draft');
  await page.close();
});

test('several lines that are pasted run one after the other, and the last one waits', async () => {
  const page = await pages.open();
  await page.tab.evaluate(() => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', 'SET a 1\r\nINCRBY a 41\nGET a');
    document.querySelector('#command').dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  });
  await eventually(async () => assert.match(await page.screen(), /INCRBY a 41\n\(integer\) 42/));
  assert.equal(await page.tab.inputValue('#command'), 'GET a');
  await page.close();
});

test('HELP explains, CLEAR and Ctrl+L empty the screen', async () => {
  const page = await pages.open();
  const help = await page.reply('HELP zadd');
  assert.match(help, /^ZADD key \[NX\|XX\]/);
  assert.match(help, /group\s+sorted-set/);
  assert.match(await page.reply('HELP @list'), /LPUSH key element/);
  assert.match(await page.reply('HELP nothing'), /No command or group/);
  await page.tab.press('#command', 'Control+l');
  assert.equal(await page.screen(), '');
  await page.close();
});

test('SUBSCRIBE shows what another tab publishes, until Ctrl+C', async () => {
  const page = await pages.open();
  await page.enter('SUBSCRIBE news');
  await page.waitForText('#prompt', '(subscribed mode)');
  const other = await pages.open({ keep: true });
  assert.equal(await other.reply('PUBLISH news "it rains"'), '(integer) 1');
  await eventually(async () => assert.match(await page.screen(), /1\) "message"\n2\) "news"\n3\) "it rains"/));
  await page.tab.press('#command', 'Control+c');
  await page.waitFor(() => document.querySelector('#prompt').textContent === 'orbweaver>');
  assert.equal(await page.reply('PING'), 'PONG');
  await other.close();
  await page.close();
});

test('a command that waits lets the page go on, and ends with Ctrl+C', async () => {
  const page = await pages.open();
  await page.tab.fill('#command', 'BLPOP nothing 0');
  await page.tab.press('#command', 'Enter');
  await page.tab.waitForSelector('#busy:not([hidden])');
  await page.tab.fill('#key-search', 'x');
  await page.waitForText('#key-empty', 'No key matches.');
  await page.tab.press('#command', 'Control+c');
  await page.waitFor(() => document.querySelector('#screen').dataset.waiting === '0');
  assert.match(await page.screen(), /\(nil\)$/);
  await page.close();
});

test('the prompt shows the db and an open transaction', async () => {
  const page = await pages.open();
  await page.enter('SELECT 3');
  assert.equal(await page.tab.locator('#prompt').innerText(), 'orbweaver[3]>');
  assert.equal(await page.tab.inputValue('#db'), '3');
  await page.enter('MULTI');
  assert.equal(await page.tab.locator('#prompt').innerText(), 'orbweaver[3](TX)>');
  await page.enter('DISCARD');
  await page.tab.selectOption('#db', '0');
  await page.waitFor(() => document.querySelector('#prompt').textContent === 'orbweaver>');
  assert.equal(await page.reply('PING'), 'PONG');
  await page.close();
});

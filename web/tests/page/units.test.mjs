// Parts of the page that need no browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plain, quoted, size, utf8, word } from '../../page/bytes.js';
import { left } from '../../page/keys/ttl.js';
import { decode } from '../../page/resp.js';
import { rest } from '../../page/terminal/hints.js';
import { split } from '../../page/terminal/quoting.js';
import { sortOf } from '../../page/records/fields.js';

const texts = (line) => split(line)?.map((arg) => Buffer.from(arg).toString('latin1')) ?? null;

test('lines are split by the rules of redis-cli', () => {
  assert.deepEqual(texts('  SET  a\tb '), ['SET', 'a', 'b']);
  assert.deepEqual(texts(String.raw`"a b" 'c d' "\x41\n\"\q" '\'\n' ""`), ['a b', 'c d', 'A\n"q', "'\\n", '']);
  assert.deepEqual(texts('pre"x"'), ['prex']);
  assert.equal(texts('"a'), null);
  assert.equal(texts('"a"b'), null);
  assert.deepEqual(texts(''), []);
});

test('a word is read back as the bytes it stands for', () => {
  for (const bytes of [utf8('plain'), utf8('two words'), utf8('quote " and \\'), utf8("it's"), utf8('é☃'), Uint8Array.of(0, 255, 10), new Uint8Array()]) {
    assert.deepEqual(split(word(bytes)), [bytes]);
  }
});

test('strings are escaped only where they have to be', () => {
  assert.equal(quoted(utf8('é "x"')), '"é \\"x\\""');
  assert.equal(quoted(Uint8Array.of(0, 10, 195)), '"\\x00\\n\\xc3"');
  assert.equal(plain(utf8('user:1')), 'user:1');
  assert.equal(plain(Uint8Array.of(1)), '"\\x01"');
});

test('a syntax gets shorter by what was typed', () => {
  const set = 'key value [NX|XX] [GET] [EX seconds|PX milliseconds]';
  assert.equal(rest(set, []), set);
  assert.equal(rest(set, ['k']), 'value [NX|XX] [GET] [EX seconds|PX milliseconds]');
  assert.equal(rest(set, ['k', 'v', 'nx']), '[GET] [EX seconds|PX milliseconds]');
  assert.equal(rest(set, ['k', 'v', 'EX', '10']), '[NX|XX] [GET]');
  assert.equal(rest('key [NX|XX] [GT|LT] score member [score member ...]', ['k', 'GT', '1']), 'member [score member ...]');
  assert.equal(rest('key <BEFORE|AFTER> pivot element', ['k', 'BEFORE']), 'pivot element');
});

test('replies are decoded with their types', () => {
  const reply = decode(utf8('*4\r\n:1\r\n$-1\r\n%1\r\n+a\r\n,1.5\r\n=5\r\ntxt:x\r\n'));
  assert.deepEqual(reply, {
    kind: 'array',
    items: [
      { kind: 'number', text: '1' }, { kind: 'nil' },
      { kind: 'map', items: [{ kind: 'status', text: 'a' }, { kind: 'double', text: '1.5' }] },
      { kind: 'verbatim', bytes: utf8('x') },
    ],
  });
});

test('times to live are shown in two units', () => {
  const shown = (ms) => left(ms, 0);
  assert.deepEqual([1, 59_000, 60_000, 61_000, 3_600_000, 3_660_000, 90_000_000, -5].map(shown), ['1 s', '59 s', '1 m 0 s', '1 m 1 s', '1 h 0 m', '1 h 1 m', '1 d 1 h', '0 s']);
});

test('sizes are shown in units', () => {
  assert.deepEqual([0, 999, 1000, 12_345, 123_456_789].map(size), ['0 B', '999 B', '1.0 KB', '12.3 KB', '123 MB']);
});

test('fields have the colour of what they mean', () => {
  const names = { expire_at_ms: 'time', 'user key': 'key', 'ordered score': 'score', 'next version': 'count', version: 'version', member: 'member', flags: 'other' };
  for (const [field, sort] of Object.entries(names)) assert.equal(sortOf(field).name, sort, field);
});

// The codec of Redis' protocol, without a browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Decoder, ReplyError, encode } from '../package/src/resp.js';

const bytes = (text) => new TextEncoder().encode(text);

/** All replies in a text that arrives in pieces of so many bytes. */
function decode(text, size, options) {
  const all = bytes(text);
  const decoder = new Decoder();
  const replies = [];
  for (let at = 0; at < all.length; at += size) {
    decoder.push(all.slice(at, at + size));
    for (let reply; (reply = decoder.next(options));) replies.push(reply);
  }
  return replies;
}

test('requests are arrays of bulk strings', () => {
  const request = encode([['SET', 'größe', Uint8Array.of(0, 255)], ['INCRBY', 'n', -1n], ['ZADD', 'z', -Infinity, 1.5]]);
  const text = Buffer.from(request).toString('latin1');
  const key = Buffer.from('größe').toString('latin1');
  assert.equal(text, `*3\r\n$3\r\nSET\r\n$7\r\n${key}\r\n$2\r\n\0\xff\r\n*3\r\n$6\r\nINCRBY\r\n$1\r\nn\r\n$2\r\n-1\r\n*4\r\n$4\r\nZADD\r\n$1\r\nz\r\n$4\r\n-inf\r\n$3\r\n1.5\r\n`);
});

test('replies of both versions are decoded, wherever their bytes are cut', () => {
  const text = '+OK\r\n$3\r\nabc\r\n*2\r\n:1\r\n$-1\r\n%1\r\n+a\r\n#t\r\n~1\r\n,1.5\r\n,-inf\r\n_\r\n*-1\r\n(123456789012345678901\r\n=7\r\ntxt:abc\r\n>2\r\n+x\r\n+y\r\n'
    + '$0\r\n\r\n|1\r\n+a\r\n+b\r\n:7\r\n:9007199254740993\r\n$7\r\ngrößt\r\n';
  const expected = [
    'OK', 'abc', [1, null], new Map([['a', true]]), new Set([1.5]), -Infinity, null, null, 123456789012345678901n, 'abc', ['x', 'y'], '', 7, 9007199254740993n, 'größt',
  ];
  for (const size of [1, 2, 3, 7, 1000]) {
    const replies = decode(text, size);
    assert.deepEqual(replies.map(({ value }) => value), expected);
    assert.deepEqual(replies.filter(({ isPush }) => isPush).map(({ value }) => value), [['x', 'y']]);
    assert.equal(Buffer.concat(replies.map(({ bytes }) => bytes)).toString(), text);
  }
});

test('errors are values, also within others', () => {
  const [{ value }, { value: [inner] }] = decode('-WRONGTYPE no\r\n*1\r\n!6\r\nERR no\r\n', 4);
  assert.ok(value instanceof ReplyError && inner instanceof ReplyError);
  assert.deepEqual([value.code, value.message, inner.code], ['WRONGTYPE', 'WRONGTYPE no', 'ERR']);
});

test('binary replies keep their bytes', () => {
  const [{ value }] = decode('*2\r\n$2\r\nab\r\n$-1\r\n', 1000, { binary: true });
  assert.deepEqual(value, [bytes('ab'), null]);
});

test('what is no reply is an error', () => {
  assert.throws(() => decode('hello\r\n', 1000), /not a reply/);
});

import { expect, test } from 'vitest';
import { framed, LARGEST_MESSAGE, MessageReader, protocolOf } from '../../../src/debugger/frames.ts';

const TEXTS = ['{"seq":1}', '{"name":"größer"}', ''];
const BYTES = Buffer.concat(TEXTS.map(framed));

test.each([1, 7, 20, 1000])('messages arrive whole in pieces of %i bytes', (size) => {
  const reader = new MessageReader();
  const read: string[] = [];
  for (let at = 0; at < BYTES.length; at += size) read.push(...reader.read(BYTES.subarray(at, at + size)));
  expect(read).toEqual(TEXTS);
});

test('other headers are allowed, in any case', () => {
  const reader = new MessageReader();
  expect(reader.read(Buffer.from('Content-Type: x\r\ncontent-length: 2\r\n\r\n{}'))).toEqual(['{}']);
});

test.each([
  ['no length', 'Content-Type: json\r\n\r\n{}'],
  ['a length that is no number', 'Content-Length: -1\r\n\r\n{}'],
  ['a request of a website', 'CUSTOM /a:b HTTP/1.1\r\nHost: a.example.com\r\nContent-Length: 2\r\n\r\n{}'],
  ['a header that does not end', 'Content-Length: 2\r\n'.padEnd(5000, 'x')],
  ['more than may be kept', `Content-Length: ${LARGEST_MESSAGE + 1}\r\n\r\n`],
])('%s ends the stream', (_, text) => {
  expect(() => new MessageReader().read(Buffer.from(text))).toThrow('message');
});

test('a large message in many pieces is put together once', () => {
  const text = JSON.stringify({ value: 'x'.repeat(8 * 2 ** 20) });
  const bytes = framed(text);
  const reader = new MessageReader();
  const read: string[] = [];
  for (let at = 0; at < bytes.length; at += 4096) read.push(...reader.read(bytes.subarray(at, at + 4096)));
  expect(read.map(({ length }) => length)).toEqual([text.length]);
});

test.each([
  ['Content-Length: 5', 'dap'],
  ['{"method":"RPCServer.SetApiVersion"}', 'json-rpc'],
  ['GET / HTTP/1.1', undefined],
  ['\x16\x03\x01', undefined],
])('%j is the first word of %s', (text, protocol) => {
  expect(protocolOf(Buffer.from(text))).toBe(protocol);
});

import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { createTransport } from '../../../src/mcp/transport.ts';

async function started() {
  const stdin = new PassThrough();
  const written: { id: RequestId | null; error?: { code: number } }[] = [];
  const received: JSONRPCMessage[] = [];
  const transport = createTransport({ stdin, write: (text) => void written.push(JSON.parse(text)) });
  transport.onmessage = (message) => void received.push(message);
  await transport.start();
  const send = async (text: string): Promise<void> => {
    stdin.write(text);
    await setImmediate();
  };
  return { stdin, transport, written, received, send };
}

const ping = (id: RequestId): string => `${JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })}\n`;

test.each([
  ['no JSON', 'hello\n', null, -32_700],
  ['no message', '[1, 2]\n', null, -32_600],
  ['null', 'null\n', null, -32_600],
  ['another protocol', '{"id": 7, "op": "read"}\n', 7, -32_600],
  ['a line without end', 'x'.repeat(3e6), null, -32_600],
  ['a message that is too long', `${JSON.stringify({ text: 'x'.repeat(3e6) })}\n`, null, -32_600],
])('%s is answered once, and the next request is received', async (_, text, id, code) => {
  const { written, received, send } = await started();
  await send(text);
  expect(written).toMatchObject([{ id, error: { code } }]);
  await send(`\n\r\n${ping(1)}`);
  expect(received).toMatchObject([{ id: 1 }]);
  expect(written).toHaveLength(1);
});

test('a request arrives whole, wherever its bytes were cut', async () => {
  const { received, send } = await started();
  const bytes = Buffer.from(ping('ü'));
  for (const byte of bytes) await send(Buffer.from([byte]) as never);
  expect(received).toMatchObject([{ id: 'ü' }]);
});

test('of a thousand requests at once, some are worked on at a time, and all in the end', async () => {
  const { transport, received, send } = await started();
  await send(Array.from({ length: 1_000 }, (_, id) => ping(id)).join(''));
  expect(received.length).toBeLessThan(100);
  for (let id = 0; id < 1_000; id++) {
    expect(received[id]).toMatchObject({ id });
    await transport.send({ jsonrpc: '2.0', id, result: {} });
    await setImmediate();
  }
});

test('a cancelled request makes room for another one, though it gets no answer', async () => {
  const { received, send } = await started();
  const cancel = (requestId: number) =>
    `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })}\n`;
  for (let id = 0; id < 200; id++) await send(ping(id) + cancel(id));
  expect(received).toHaveLength(400);
});

test('a request with the id of one under way is refused, and the answer to that one still arrives', async () => {
  const { transport, written, received, send } = await started();
  await send(ping(1).repeat(500));
  expect(received).toHaveLength(1);
  expect(written).toHaveLength(499);
  expect(written[0]).toMatchObject({ id: null, error: { code: -32_600 } });
  await transport.send({ jsonrpc: '2.0', id: 1, result: {} });
  await send(ping(1));
  expect(received).toHaveLength(2);
});

test('a cancelled request keeps its place until its work has ended', async () => {
  const { transport, received, send } = await started();
  const requests = () => received.filter((message) => 'id' in message);
  const work = Promise.withResolvers<void>();
  for (let id = 0; id < 100; id++) {
    await send(ping(id));
    if (requests().length > id) transport.worksOn(id, work.promise);
    const cancelled = { method: 'notifications/cancelled', params: { requestId: id } };
    await send(`${JSON.stringify({ jsonrpc: '2.0', ...cancelled })}\n`);
  }
  const most = requests().length;
  expect(most).toBeLessThan(100);
  work.resolve();
  await expect.poll(() => requests().length).toBe(100);
});

test('while requests wait, empty lines take no memory, and short ones are not kept without limit', async () => {
  const { stdin, received, send } = await started();
  for (let id = 0; id < 32; id++) await send(ping(id));
  await send('\n'.repeat(1.5e6));
  expect(stdin.isPaused()).toBe(false);
  await send('x\n'.repeat(6e5));
  expect(stdin.isPaused()).toBe(true);
  expect(received).toHaveLength(32);
});

test('what a client does not wait for is not kept without limit', async () => {
  const { stdin, send } = await started();
  for (let id = 0; id < 40_000; id++) stdin.write(ping(id));
  await send('');
  expect(stdin.isPaused()).toBe(true);
});

test('the end of the input closes it once', async () => {
  const { stdin, transport } = await started();
  let closes = 0;
  transport.onclose = () => void closes++;
  stdin.end();
  await transport.closed;
  await setImmediate();
  expect(closes).toBe(1);
});

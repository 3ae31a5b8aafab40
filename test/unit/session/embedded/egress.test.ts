import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { THIS_MACHINE } from '../../../../src/machine/addresses.ts';
import { listenForEgress } from '../../../../src/session/embedded/egress.ts';

async function egress() {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-egress-'));
  const path = join(directory, 'egress.sock');
  const listening = await listenForEgress(path);
  const echo = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1');
  await once(echo, 'listening');
  onTestFinished(async () => {
    await listening[Symbol.asyncDispose]();
    echo.close();
    await rm(directory, { recursive: true });
  });
  const ask = (head: string) => {
    const socket = connect(path);
    socket.write(head);
    return socket;
  };
  return { ask, port: (echo.address() as AddressInfo).port };
}

test('a connection to this machine is joined, in both directions', async () => {
  const { ask, port } = await egress();
  const socket = ask(`CONNECT ${THIS_MACHINE}:${port} HTTP/1.1\r\nHost: x\r\n`);
  socket.write('\r\n');
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(String(answer)).toBe('HTTP/1.1 200 OK\r\n\r\n');
  socket.end('hello');
  expect(await text(socket)).toBe('hello');
});

test.each([
  'CONNECT 127.0.0.1:PORT HTTP/1.1\r\n\r\n',
  'CONNECT 10.0.0.5:443 HTTP/1.1\r\n\r\n',
  'CONNECT example.com:443 HTTP/1.1\r\n\r\n',
  `CONNECT ${THIS_MACHINE}:65536 HTTP/1.1\r\n\r\n`,
  'GET / HTTP/1.1\r\n\r\n',
  `${'x'.repeat(10_000)}`,
])('nothing else is reached: %s', async (head) => {
  const { ask, port } = await egress();
  expect(await text(ask(head.replace('PORT', String(port))))).toBe('HTTP/1.1 502 Bad Gateway\r\n\r\n');
});

test('where nothing listens, the connection ends', async () => {
  const { ask, port } = await egress();
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const free = (closed.address() as AddressInfo).port;
  closed.close();
  expect(free).not.toBe(port);
  expect(await text(ask(`CONNECT ${THIS_MACHINE}:${free} HTTP/1.1\r\n\r\n`))).toBe('');
});

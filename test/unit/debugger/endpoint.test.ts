import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { DebugEndpoint } from '../../../src/debugger/endpoint.ts';
import { freePort } from '../../support/free-port.ts';
import { recordEvents } from '../controller/support/events.ts';

/** A client that speaks delve's own protocol at a port, from a local address. `then` runs when it has written. */
const CLIENT = `
const [port, localAddress, then] = process.argv.slice(1);
const command = JSON.stringify({ method: 'RPCServer.Command', params: [{ name: 'halt' }], id: 1 }) + '\\n';
const socket = require('net').connect({ host: '127.0.0.1', port, localAddress });
socket.on('error', () => {}).on('close', () => process.exit());
socket.write(command.repeat(10000));
if (then === 'reset') socket.on('connect', () => setImmediate(() => socket.resetAndDestroy()));
`;

const isRoot = process.platform === 'linux' && process.getuid?.() === 0;

test.runIf(isRoot).each([
  ['127.0.0.1', 'wait'],
  // Each user has all addresses of the loopback interface.
  ['127.0.0.2', 'wait'],
  ['127.0.0.1', 'reset'],
])('nothing that another user sends reaches delve: from %s, then %s', async (from, then) => {
  const recorder = recordEvents();
  const port = await freePort();
  const endpoint = await DebugEndpoint.listen(port, recorder.emit);
  onTestFinished(() => endpoint[Symbol.asyncDispose]());
  const got: Buffer[] = [];
  const delve = createServer((socket) => void socket.on('data', (chunk) => got.push(chunk)));
  onTestFinished(() => void delve.close());
  await once(delve.listen(0, '127.0.0.1'), 'listening');
  const call = async <T>() => ({ Breakpoints: [], State: { Running: true } }) as T;
  const client = { call, [Symbol.dispose]() {} };
  endpoint.serve((delve.address() as { port: number }).port, client);
  await endpoint.open(new AbortController().signal);

  const args = ['-e', CLIENT, String(port), from, then];
  const child = spawn(process.execPath, args, { uid: 65_534, cwd: '/', env: {}, stdio: 'inherit' });
  await once(child, 'exit');
  if (then === 'wait') await recorder.waitFor('warning', ({ code }) => code === 'debugger.other-user');
  expect(got).toEqual([]);
  expect(recorder.all('debug.attached')).toEqual([]);
});

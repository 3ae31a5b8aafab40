import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openLink } from '../../../src/route/ssh/link.ts';
import { type HostSettings, readSettings } from '../../../src/route/ssh/settings.ts';
import { openTransport } from '../../../src/route/ssh/transport.ts';
import { handshakeContext } from '../../support/sshd/handshake-context.ts';
import { LOCAL } from '../../support/sshd/local.ts';
import { listenHere } from '../../support/sshd/open-route.ts';

const { signal } = new AbortController();

function hostAt(port: number): HostSettings {
  const settings = ['userknownhostsfile none', 'identityagent none'];
  return readSettings(settings.join('\n'), { host: '127.0.0.1', port }, LOCAL);
}

function hostOver(command: string): HostSettings {
  const settings = [`proxycommand ${command}`, 'userknownhostsfile none', 'identityagent none'];
  return readSettings(settings.join('\n'), { host: 'box' }, LOCAL);
}

it('sends what is written in one turn together, complete and in order', async () => {
  const arrived = Promise.withResolvers<Buffer>();
  await using target = await listenHere((socket) => arrived.resolve(buffer(socket)));
  const stream = (await openTransport(hostAt(target.port), 5_000, signal)) as Socket;
  const large = randomBytes(100_000);
  stream.write('a');
  stream.write(Buffer.from('b'));
  expect(stream.writableLength).toBe(2);
  await nextTurn();
  expect(stream.writableLength).toBe(0);
  stream.write(large);
  stream.write('c');
  stream.end();
  expect(await arrived.promise).toEqual(Buffer.concat([Buffer.from('ab'), large, Buffer.from('c')]));
});

it.each([0, 50])('reports a host that resets the connection after %i ms', async (ms) => {
  await using host = await listenHere((socket) => void setTimeout(() => socket.resetAndDestroy(), ms));
  await expect(openLink([hostAt(host.port)], 10_000, handshakeContext())).rejects.toMatchObject({
    code: 'ssh.unreachable',
    message: expect.stringContaining('ECONNRESET'),
  });
});

it.each(['INT', 'HUP'])('keeps a ProxyCommand alive when the terminal sends it SIG%s', async (name) => {
  const stream = await openTransport(hostOver(`sh -c 'kill -${name} $$; exec cat'`), 10_000, signal);
  stream.on('error', () => {});
  stream.write('hello');
  expect(String((await once(stream, 'data'))[0])).toBe('hello');
  const closed = new Promise((resolve) => stream.once('close', resolve));
  stream.destroy();
  await closed;
});

it.each(['/nonexistent/command', 'true', "sh -c 'echo SSH-2.0-box; exit 3'", "sh -c 'sleep 0.1; exit 3'"])(
  'names the ProxyCommand as the cause when %s fails',
  async (command) => {
    await expect(openLink([hostOver(command)], 10_000, handshakeContext())).rejects.toMatchObject({
      code: 'ssh.unreachable',
      message: expect.stringContaining('ProxyCommand'),
    });
  },
);

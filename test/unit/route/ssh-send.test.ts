import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import ssh2, { type Channel, type ServerChannel } from 'ssh2';
import { expect, it } from 'vitest';

import { carry } from '../../../src/route/ssh/carry.ts';
import { makeSshKey } from '../../support/ssh-key.ts';
import { listenHere } from '../../support/sshd/open-route.ts';

const hostKey = makeSshKey();
const WINDOW = 2 * 1024 * 1024;
const patient = { timeout: 10_000 };

interface Both extends AsyncDisposable {
  near: Channel;
  far: ServerChannel;
}

/** Both ends of a channel of ssh2, over a real connection. */
async function openChannel(): Promise<Both> {
  const opened = Promise.withResolvers<ServerChannel>();
  const server = new ssh2.Server({ hostKeys: [hostKey] }, (connection) => {
    connection.on('authentication', (attempt) => attempt.accept());
    connection.on('tcpip', (accept) => opened.resolve(accept()));
    connection.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = new ssh2.Client();
  client.connect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, username: 'me' });
  await once(client, 'ready');
  const near = await new Promise<Channel>((resolve, reject) => {
    client.forwardOut('', 0, '', 0, (error, channel) => (error ? reject(error) : resolve(channel)));
  });
  return {
    near,
    far: await opened.promise,
    async [Symbol.asyncDispose]() {
      client.end();
      server.close();
      await once(server, 'close');
    },
  };
}

/** How much of what is written to a channel goes through its stream. */
function watchStream(channel: Channel): { bytes: number } {
  const written = { bytes: 0 };
  const { write } = channel;
  channel.write = (...args: unknown[]) => {
    written.bytes += (args[0] as Buffer).length;
    return Reflect.apply(write, channel, args) as boolean;
  };
  return written;
}

it('sends what the far side takes without the stream of the channel, in packets that it takes', async () => {
  await using both = await openChannel();
  const said = randomBytes(WINDOW / 2);
  await using target = await listenHere((socket) => socket.end(said));
  const written = watchStream(both.near);
  carry(both.near, target.port, new Set());
  expect((await buffer(both.far)).equals(said)).toBe(true);
  expect(written.bytes).toBe(0);
});

it('keeps to the window of a far side that reads nothing, and sends the rest in order when it does', async () => {
  await using both = await openChannel();
  const said = randomBytes(4 * WINDOW);
  await using target = await listenHere((socket) => socket.end(said));
  const written = watchStream(both.near);
  carry(both.near, target.port, new Set());
  await expect.poll(() => both.near.writableNeedDrain, patient).toBe(true);
  const { incoming } = both.far as unknown as { incoming: { window: number } };
  await expect.poll(() => incoming.window, patient).toBe(0);
  expect(written.bytes).toBeLessThan(1.1 * WINDOW);
  expect((await buffer(both.far)).equals(said)).toBe(true);
});

it('sends nothing ahead of what waits in the stream', async () => {
  await using both = await openChannel();
  await using target = await listenHere((socket) => void socket.end('second'));
  both.near.cork();
  both.near.write('first, ');
  carry(both.near, target.port, new Set());
  await expect.poll(() => both.near.writableEnded, patient).toBe(true);
  both.near.uncork();
  expect(String(await buffer(both.far))).toBe('first, second');
});

it('sends nothing on a channel that has been closed from here', async () => {
  await using both = await openChannel();
  await using target = await listenHere((socket) => void socket.write('late'));
  const written = watchStream(both.near);
  (both.near as unknown as { outgoing: { state: string } }).outgoing.state = 'closing';
  carry(both.near, target.port, new Set());
  await expect.poll(() => written.bytes, patient).toBe('late'.length);
});

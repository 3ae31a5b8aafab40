import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { readSettings } from '../../../src/route/ssh/settings.ts';
import { openStream } from '../../../src/route/ssh/stream.ts';
import { listenHere } from '../../support/sshd/open-route.ts';

const local = {
  home: '/home/me',
  accountHome: '/home/me',
  user: 'me',
  uid: 1000,
  hostname: 'laptop',
  env: {},
};
const { signal } = new AbortController();

it('sends what is written in one turn in one piece, in order, also before the end', async () => {
  const arrived = Promise.withResolvers<Buffer>();
  await using target = await listenHere((socket) => arrived.resolve(buffer(socket)));
  const host = readSettings('', { host: '127.0.0.1', port: target.port }, local);
  const stream = (await openStream(host, 5_000, signal)) as Socket;
  const large = randomBytes(100_000);
  stream.write('a');
  stream.write(Buffer.from('b'));
  expect(stream.bytesWritten).toBe(0);
  await nextTurn();
  expect(stream.bytesWritten).toBe(2);
  stream.write(large);
  stream.write('c');
  stream.end();
  expect(await arrived.promise).toEqual(Buffer.concat([Buffer.from('ab'), large, Buffer.from('c')]));
});

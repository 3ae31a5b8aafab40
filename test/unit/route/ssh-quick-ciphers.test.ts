import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import ssh2 from 'ssh2';
import { expect, it } from 'vitest';
import { quickenCiphers } from '../../../src/route/ssh/quick-ciphers.ts';
import { makeSshKey } from '../../support/ssh-key.ts';

const hostKey = makeSshKey();

/** What goes through a connection whose one end has quick ciphers and the other those of ssh2. */
async function exchange(cipher: string, pieces: Buffer[]): Promise<{ echoed: Buffer; inside: object }> {
  const server = new ssh2.Server({ hostKeys: [hostKey] }, (connection) => {
    connection.on('error', () => undefined);
    connection.on('authentication', (attempt) => attempt.accept());
    connection.on('session', (accept) => {
      accept().on('exec', (acceptExec) => {
        const channel = acceptExec();
        channel.pipe(channel);
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = new ssh2.Client();
  client.on('handshake', () => quickenCiphers(client));
  const { port } = server.address() as AddressInfo;
  client.connect({ host: '127.0.0.1', port, username: 'me', algorithms: { cipher: [cipher as never] } });
  await once(client, 'ready');
  const channel = await new Promise<ssh2.ClientChannel>((resolve, reject) => {
    client.exec('echo', (error, opened) => (error ? reject(error) : resolve(opened)));
  });
  for (const piece of pieces) channel.write(piece);
  channel.end();
  const echoed = await buffer(channel);
  const inside = (client as unknown as { _protocol: { _cipher: object } })._protocol._cipher;
  client.end();
  server.close();
  await once(server, 'close');
  return { echoed, inside };
}

it.each(['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'chacha20-poly1305@openssh.com', 'aes128-ctr'])(
  'carries packets of every length with %s',
  async (cipher) => {
    const pieces = [...Array.from({ length: 600 }, (_, size) => randomBytes(size)), randomBytes(100_000)];
    const { echoed } = await exchange(cipher, pieces);
    expect(echoed.equals(Buffer.concat(pieces))).toBe(true);
  },
);

it('finds in ssh2 what it replaces, and pads with bytes that are never the same', async () => {
  const { inside } = await exchange('aes128-gcm@openssh.com', []);
  const own = Object.keys(inside);
  expect(own).toEqual(expect.arrayContaining(['_encKey', '_encSSLName', 'allocPacket']));
  expect(Buffer.isBuffer((inside as { _encKey: unknown })._encKey)).toBe(false);
  expect(Object.getPrototypeOf(inside)).toHaveProperty('allocPacket');
  const { allocPacket } = inside as { allocPacket(size: number): Buffer };
  const paddings = Array.from({ length: 2_000 }, () => allocPacket(12).toString('hex', 5 + 12));
  expect(new Set(paddings).size).toBe(paddings.length);
});

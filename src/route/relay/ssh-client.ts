import { timingSafeEqual } from 'node:crypto';
import { connect } from 'node:net';
import type { Client, ClientChannel } from 'ssh2';
import { quickenCiphers } from '../ssh/quick-ciphers.ts';
import { join } from './join.ts';
import type { RelayKeys } from './keys.ts';
import type { ResumableStream } from './resumable.ts';

const LOCALHOST = '127.0.0.1';
const GONE = 'the relay program ended the session';

/**
 * Speaks SSH over the stream, as the client: asks the program to listen on its ports and connects what comes to the gateways
 * on this machine. Resolves when all ports are taken; rejects with the cause, and the stream is then over.
 */
export async function forwardPorts(
  stream: ResumableStream,
  keys: RelayKeys,
  ports: Map<number, number>,
): Promise<void> {
  const { default: ssh2 } = await import('ssh2');
  // ssh2 waits for ever for a stream that has closed before.
  if (stream.destroyed) throw new Error(GONE);
  const expected = ssh2.utils.parseKey(keys.host.public);
  if (expected instanceof Error) throw expected;
  const hostKey = expected.getPublicSSH();
  const client = new ssh2.Client();
  await new Promise<void>((resolve, reject) => {
    client.on('error', (error) => {
      reject(error);
      stream.destroy();
    });
    client.once('close', () => reject(new Error(GONE)));
    client.once('ready', () => resolve());
    client.on('handshake', () => quickenCiphers(client));
    client.connect({
      sock: stream,
      username: 'devloop',
      privateKey: keys.client.private,
      hostVerifier: (key: Buffer) => key.length === hostKey.length && timingSafeEqual(key, hostKey),
      // The stream waits for as long as it takes; the program gives up on a client that proves nothing.
      readyTimeout: 0,
    });
  });
  const gatewayPorts = new Map([...ports].map(([gateway, pod]) => [pod, gateway]));
  client.on('tcp connection', ({ destPort }, accept, reject) => {
    const port = gatewayPorts.get(destPort);
    if (port === undefined) reject();
    else carryToGateway(port, accept());
  });
  await Promise.all([...gatewayPorts.keys()].map((port) => listenInPod(client, port)));
}

/** The program opens channels ahead of need: there is a connection behind one when its first bytes come. */
function carryToGateway(port: number, channel: ClientChannel): void {
  channel.once('data', (first: Buffer) => {
    const socket = connect({ host: LOCALHOST, port, allowHalfOpen: true, noDelay: true });
    join(socket, channel);
    socket.write(first);
  });
}

async function listenInPod(client: Client, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const gone = (): void => reject(new Error(GONE));
    client.once('close', gone);
    client.forwardIn('', port, (error) => {
      client.off('close', gone);
      if (error === undefined) resolve();
      else reject(new Error(`the relay program cannot listen on port ${port}`, { cause: error }));
    });
  });
}

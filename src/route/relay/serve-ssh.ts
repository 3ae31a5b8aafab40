import type { Socket } from 'node:net';
import type { AuthContext, Channel, Connection, ParsedKey } from 'ssh2';
import ssh2 from 'ssh2';
import { quickenCiphers } from '../ssh/quick-ciphers.ts';
import type { ResumableStream } from './resumable.ts';
import { Spares } from './spares.ts';
import type { Carrier, WebhookPort } from './webhook-port.ts';

/** ssh2 has keep-alives of its own that cannot be switched off. The stream below knows when the other end is gone. */
const NEVER = 2 ** 31 - 1;

export interface SshOptions {
  hostKey: string;
  clientKey: string;
  ports: Map<number, WebhookPort>;
  /** The client has proved who it is. */
  onReady(): void;
  log(line: string): void;
}

/** Speaks SSH over the stream, as the server: the client may ask for the ports of the webhook Service, and nothing else. */
export function serveSsh(stream: ResumableStream, options: SshOptions): void {
  const key = ssh2.utils.parseKey(options.clientKey);
  if (key instanceof Error) throw key;
  const server = new ssh2.Server({ hostKeys: [options.hostKey], keepaliveInterval: NEVER }, (client) => {
    client.on('error', () => stream.leave('ended'));
    client.on('handshake', () => quickenCiphers(client));
    client.on('authentication', (attempt) => {
      if (isClient(attempt, key)) attempt.accept();
      else attempt.reject(['publickey']);
    });
    client.once('ready', () => {
      options.onReady();
      forwardPorts(client, stream, options);
    });
  });
  server.injectSocket(stream as unknown as Socket);
}

function isClient(attempt: AuthContext, key: ParsedKey): boolean {
  if (attempt.method !== 'publickey' || attempt.key.algo !== key.type) return false;
  if (!attempt.key.data.equals(key.getPublicSSH())) return false;
  // Without a signature it only asks whether this key would do.
  if (attempt.signature === undefined || attempt.blob === undefined) return true;
  return key.verify(attempt.blob, attempt.signature, attempt.hashAlgo) === true;
}

function forwardPorts(client: Connection, stream: ResumableStream, { ports, log }: SshOptions): void {
  const carriers = new Map<WebhookPort, Carrier>();
  client.on('request', (accept, reject, name, info) => {
    const port = 'bindPort' in info ? ports.get(info.bindPort) : undefined;
    if (port === undefined || name !== 'tcpip-forward' || !('bindAddr' in info)) return reject?.();
    const open = (): Promise<Channel> => openChannel(client, info.bindAddr, info.bindPort);
    const spares = new Spares(open);
    // Across a cut another client may be the next one. Who waits for a channel of its own then goes over to that.
    const carrier: Carrier = () => (stream.attached ? spares.take() : open());
    carriers.set(port, carrier);
    port.serve(carrier).then(
      () => accept?.(),
      (error: Error) => {
        log(`cannot listen on port ${info.bindPort}: ${error.message}`);
        reject?.();
      },
    );
  });
  client.once('close', () => {
    for (const [port, carrier] of carriers) port.release(carrier);
  });
}

async function openChannel(client: Connection, address: string, port: number): Promise<Channel> {
  return await new Promise((resolve, reject) => {
    // From nobody yet; the client does not ask.
    client.forwardOut(address, port, '', 0, (error, channel) =>
      error === undefined ? resolve(channel) : reject(error),
    );
  });
}

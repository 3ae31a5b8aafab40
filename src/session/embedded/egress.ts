import { connect, createServer, type Server, type Socket } from 'node:net';
import { DevloopError } from '../../errors.ts';
import { THIS_MACHINE } from '../../machine/addresses.ts';
import { LONGEST_SOCKET_PATH } from '../../machine/port.ts';

const LOOPBACK = '127.0.0.1';
const LARGEST_HEAD = 8_192;
const HEAD_MS = 5_000;
const LARGEST_PORT = 65_535;
const CONNECT = /^CONNECT ([\d.]+):(\d{1,5}) HTTP\/1\.1\r\n/;

/** Where kube-apiserver asks for its connections to Services: they lead to this machine, and to nowhere else. */
export async function listenForEgress(socketPath: string): Promise<AsyncDisposable> {
  if (Buffer.byteLength(socketPath) > LONGEST_SOCKET_PATH)
    throw new DevloopError(
      'files.not-written',
      `The path of a socket has at most ${LONGEST_SOCKET_PATH} bytes, and ${socketPath} is longer.`,
      { hint: 'Choose a shorter directory: XDG_STATE_HOME=DIR devloop up --embedded' },
    );
  const open = new Set<Socket>();
  const server: Server = createServer({ allowHalfOpen: true }, (client) => {
    open.add(client);
    client.once('close', () => open.delete(client));
    client.on('error', () => client.destroy());
    answer(client);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socketPath, resolve);
  });
  return {
    async [Symbol.asyncDispose]() {
      for (const one of open) one.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answer(client: Socket): void {
  let head = '';
  client.setTimeout(HEAD_MS, () => client.destroy());
  const read = (chunk: Buffer): void => {
    head += chunk.toString('latin1');
    const end = head.indexOf('\r\n\r\n');
    if (end < 0 && head.length <= LARGEST_HEAD) return;
    client.off('data', read);
    client.setTimeout(0);
    const [, host, port] = CONNECT.exec(head) ?? [];
    // What it sends to the Service comes only after the answer.
    if (end < 0 || host !== THIS_MACHINE || Number(port) > LARGEST_PORT)
      return void client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    join(client, Number(port));
  };
  client.on('data', read);
}

function join(client: Socket, port: number): void {
  const gateway = connect({ host: LOOPBACK, port, allowHalfOpen: true }, () => {
    client.write('HTTP/1.1 200 OK\r\n\r\n');
    client.pipe(gateway).pipe(client);
  });
  gateway.on('error', () => client.destroy());
  gateway.once('close', () => client.destroy());
  client.once('close', () => gateway.destroy());
}

import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A connection to an API server that can freeze. */
export interface Freezer extends AsyncDisposable {
  /** A copy of the kubeconfig that uses this connection. */
  kubeconfig: string;
  freeze(): void;
}

export async function freezer(kubeconfig: string): Promise<Freezer> {
  const config = JSON.parse(await readFile(kubeconfig, 'utf8'));
  const { cluster } = config.clusters[0];
  const { hostname, port } = new URL(cluster.server);
  const sockets = new Set<Socket>();
  let frozen = false;
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {}).once('close', () => sockets.delete(socket));
    }
    if (!frozen) near.pipe(far).pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cluster.server = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const copy = `${kubeconfig}.freezer`;
  await writeFile(copy, JSON.stringify(config), { mode: 0o600 });
  return {
    kubeconfig: copy,
    freeze() {
      frozen = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

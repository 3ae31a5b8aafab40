import { createServer, type Server, type Socket } from 'node:net';
import type { Channel } from '../wire/channel.ts';
import { join, type Traffic } from '../wire/join.ts';

/** Opens a channel to the developer's machine for an incoming connection. */
export type OpenChannel = () => Channel;

/** A connection without a channel is reset after this time, which is the limit of kube-apiserver's TLS handshake. */
const CARRY_LIMIT_MS = 10_000;
/** Limits for one webhook port. A gateway accepts fewer connections. */
const MOST_CONNECTIONS = 1024;
const MOST_WAITING = 256;

/**
 * One port of the webhook Service, in the Pod. It listens only while a client serves it, so the Pod's readiness probe passes only then.
 * Connections that arrive while the client redials, or is replaced by another one, wait.
 */
export class WebhookPort {
  #port: number;
  #server: Promise<Server> | undefined;
  #openChannel: OpenChannel | undefined;
  #held = false;
  #waiting = new Set<() => void>();
  #open = new Map<Socket, Traffic | undefined>();
  /** Connections that have sent nothing yet, the oldest first. */
  #silent = new Set<Socket>();

  constructor(port: number) {
    this.#port = port;
  }

  /** Listens, and opens a channel for each connection, including those that wait. Rejects if the port is not free. */
  async serve(openChannel: OpenChannel): Promise<void> {
    this.#openChannel = openChannel;
    this.#server ??= listenOnAll(this.#port, (socket) => this.#arrived(socket));
    try {
      await this.#server;
    } catch (error) {
      this.close();
      throw error;
    }
    this.#releaseWaiting();
  }

  /** While the client is cut off, connections wait, because another client may take over. */
  hold(held: boolean): void {
    this.#held = held;
    this.#releaseWaiting();
  }

  /** Called when this client has gone. If no other client has taken its place, the port stops listening; open connections stay. */
  release(openChannel: OpenChannel): void {
    if (this.#openChannel === openChannel) this.close();
  }

  close(): void {
    this.#openChannel = undefined;
    this.#server?.then(
      (server) => server.close(),
      () => {},
    );
    this.#server = undefined;
  }

  /** Ends idle connections, and returns how many others are waiting for an answer. */
  endIdle(): number {
    let busy = 0;
    for (const [socket, traffic] of this.#open) {
      if (traffic === undefined || traffic.busy || socket.writableLength > 0) busy += 1;
      else socket.destroy();
    }
    return busy;
  }

  #arrived(socket: Socket): void {
    if (this.#open.size >= MOST_CONNECTIONS) {
      // kube-apiserver sends at once, so the oldest silent connection belongs to a stranger.
      const [oldest = socket] = this.#silent;
      oldest.resetAndDestroy();
      if (oldest === socket) return;
    }
    this.#silent.add(socket);
    const patience = setTimeout(() => socket.resetAndDestroy(), CARRY_LIMIT_MS);
    this.#open.set(socket, undefined);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      clearTimeout(patience);
      this.#open.delete(socket);
      this.#silent.delete(socket);
    });
    // A TLS client sends first. A readiness probe sends nothing, and is not carried.
    const unused = (): void => void socket.end();
    socket.once('end', unused);
    socket.once('data', (first) => {
      this.#silent.delete(socket);
      // The socket gets the bytes back at once; otherwise, the end of the connection could be emitted before there is a channel.
      socket.off('end', unused).pause().unshift(first);
      void this.#carry(socket).finally(() => clearTimeout(patience));
    });
  }

  async #carry(socket: Socket): Promise<void> {
    while (this.#openChannel === undefined || this.#held) {
      if (this.#waiting.size >= MOST_WAITING) return void socket.resetAndDestroy();
      await this.#nextClient(socket);
      if (socket.destroyed) return;
    }
    this.#open.set(socket, join(socket, this.#openChannel()));
  }

  async #nextClient(socket: Socket): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#waiting.add(resolve);
      socket.once('close', () => {
        this.#waiting.delete(resolve);
        resolve();
      });
    });
  }

  #releaseWaiting(): void {
    if (this.#openChannel === undefined || this.#held) return;
    for (const go of this.#waiting) go();
    this.#waiting.clear();
  }
}

/** Listens on all addresses of both families; `::` does not exist on a node without IPv6. */
async function listenOnAll(port: number, arrived: (socket: Socket) => void): Promise<Server> {
  return await listen(port, '::', arrived).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EAFNOSUPPORT' && error.code !== 'EADDRNOTAVAIL') throw error;
    return listen(port, '0.0.0.0', arrived);
  });
}

export async function listen(port: number, host: string, arrived: (socket: Socket) => void): Promise<Server> {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, arrived);
  return await listening(server, port, host);
}

/** Listens on all addresses if `host` is absent. */
export async function listening(server: Server, port: number, host?: string): Promise<Server> {
  // A last resort: each port has its own rule about which connection to drop.
  server.maxConnections = 2 * MOST_CONNECTIONS;
  return await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve(server.off('error', reject)));
  });
}

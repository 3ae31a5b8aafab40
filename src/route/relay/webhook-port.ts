import { createServer, type Server, type Socket } from 'node:net';
import type { Channel } from './channel.ts';
import { join, type Traffic } from './join.ts';

/** Opens a channel to the developer's machine for a connection that came in. */
export type Carrier = () => Channel;

/** A connection that nobody carries after so long, in ms, is reset: kube-apiserver gives its TLS handshake no more. */
const MOST_PATIENCE = 10_000;
const MOST_CONNECTIONS = 1024;
const MOST_WAITING = 256;

/**
 * One port of the webhook Service, in the Pod. It listens while there is somebody to carry to, so whether it listens is
 * whether the Pod is ready. Connections that come while the other end redials, or is replaced, wait.
 */
export class WebhookPort {
  #port: number;
  #server: Promise<Server> | undefined;
  #carrier: Carrier | undefined;
  #held = false;
  #waiting = new Set<() => void>();
  #open = new Map<Socket, Traffic | undefined>();

  constructor(port: number) {
    this.#port = port;
  }

  /** Listens, if it does not yet, and carries what comes, and what waits, this way. Rejects where the port is not free. */
  async serve(carrier: Carrier): Promise<void> {
    this.#carrier = carrier;
    this.#server ??= listenOnAll(this.#port, (socket) => this.#arrived(socket));
    try {
      await this.#server;
    } catch (error) {
      this.close();
      throw error;
    }
    this.#closeAfterNextAnswer();
  }

  /** While the carrier is cut off, what comes waits: across a cut, another one may take over. */
  hold(held: boolean): void {
    this.#held = held;
    this.#closeAfterNextAnswer();
  }

  /** This one carries no longer. Without another, the port no longer listens; open connections stay. */
  release(carrier: Carrier): void {
    if (this.#carrier === carrier) this.close();
  }

  close(): void {
    this.#carrier = undefined;
    this.#server?.then(
      (server) => server.close(),
      () => {},
    );
    this.#server = undefined;
  }

  /** Ends what is idle, and says how many connections wait for an answer. */
  endIdle(): number {
    let busy = 0;
    for (const [socket, traffic] of this.#open) {
      if (traffic === undefined || traffic.busy || socket.writableLength > 0) busy += 1;
      else socket.destroy();
    }
    return busy;
  }

  #arrived(socket: Socket): void {
    const patience = setTimeout(() => socket.resetAndDestroy(), MOST_PATIENCE);
    this.#open.set(socket, undefined);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      clearTimeout(patience);
      this.#open.delete(socket);
    });
    // The caller speaks first, in TLS. What only looks whether the port is open (a readiness probe) is not carried.
    const unused = (): void => void socket.end();
    socket.once('end', unused);
    socket.once('data', (first) => {
      // Back at once: a stream that is empty when the caller ends would say so now, to nobody.
      socket.off('end', unused).pause().unshift(first);
      void this.#carry(socket).finally(() => clearTimeout(patience));
    });
  }

  async #carry(socket: Socket): Promise<void> {
    while (this.#carrier === undefined || this.#held) {
      if (this.#waiting.size >= MOST_WAITING) return void socket.resetAndDestroy();
      await this.#nextCarrier(socket);
      if (socket.destroyed) return;
    }
    this.#open.set(socket, join(socket, this.#carrier()));
  }

  async #nextCarrier(socket: Socket): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#waiting.add(resolve);
      socket.once('close', () => {
        this.#waiting.delete(resolve);
        resolve();
      });
    });
  }

  #closeAfterNextAnswer(): void {
    if (this.#carrier === undefined || this.#held) return;
    for (const go of this.#waiting) go();
    this.#waiting.clear();
  }
}

/** On all addresses of both families; a node without IPv6 has no `::`. */
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

/** On all addresses, where none is named. */
export async function listening(server: Server, port: number, host?: string): Promise<Server> {
  server.maxConnections = MOST_CONNECTIONS;
  return await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve(server.off('error', reject)));
  });
}

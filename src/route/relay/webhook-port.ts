import { createServer, type Server, type Socket } from 'node:net';
import type { Channel } from 'ssh2';
import { join, type Traffic } from './join.ts';

/** Gives a channel to the developer's machine for a connection that came in; rejects where there is none any more. */
export type Carrier = () => Promise<Channel>;

/** A connection that has no channel after so long, in ms, is reset: kube-apiserver gives its TLS handshake no more. */
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
    for (const go of this.#waiting) go();
    this.#waiting.clear();
  }

  /** Nobody carries for now: what comes waits for the next one. */
  hold(): void {
    this.#carrier = undefined;
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
    const channel = await this.#channel(socket);
    if (channel === undefined) return void socket.resetAndDestroy();
    if (socket.destroyed) return channel.close();
    this.#open.set(socket, join(socket, channel));
  }

  async #channel(socket: Socket): Promise<Channel | undefined> {
    while (!socket.destroyed) {
      const carrier = this.#carrier;
      if (carrier === undefined) {
        if (this.#waiting.size >= MOST_WAITING) return undefined;
        await this.#nextCarrier(socket);
        continue;
      }
      try {
        return await carrier();
      } catch {
        // Nothing was sent yet: where the carrier has gone meanwhile, the next one may do it.
        if (carrier === this.#carrier) return undefined;
      }
    }
    return undefined;
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
  server.maxConnections = MOST_CONNECTIONS;
  return await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve(server.off('error', reject)));
  });
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';

/**
 * The connections of clients. kube-apiserver sends reviews over an open connection wherever the Service leads by now, for
 * as long as the connection stays open; so letting go has to come from this side.
 */
export interface Connections {
  /** Tells that a request came in, until its answer is out. */
  track(request: IncomingMessage, response: ServerResponse): void;
  /** From now on every connection gets one more answer, which closes it. Idle ones stay: closing them is for who sends. */
  letGo(): void;
  /** Lets go, closes idle connections, and resolves when all that were ever used are gone. */
  drain(): Promise<void>;
  /** Closes at once what answers nothing, including connections that never got as far as a request. */
  destroyIdle(): void;
  destroyAll(): void;
}

interface Connection {
  raw: Duplex;
  tls?: TLSSocket;
  answering: Set<ServerResponse>;
  used: boolean;
}

export function trackConnections(server: Server): Connections {
  const connections = new Map<string, Connection>();
  let lettingGo = false;
  let draining: Promise<void> | undefined;
  const letGo = (): void => {
    lettingGo = true;
    for (const { answering } of connections.values()) for (const response of answering) closeAfter(response);
  };
  server.on('connection', (raw) => {
    const peer = peerOf(raw as Socket);
    connections.set(peer, { raw, answering: new Set(), used: false });
    raw.once('close', () => connections.delete(peer));
  });
  server.on('secureConnection', (tls) => {
    const connection = connections.get(peerOf(tls));
    if (connection !== undefined) connection.tls = tls;
  });
  return {
    track(request, response) {
      const connection = connections.get(peerOf(request.socket));
      if (connection === undefined) return;
      connection.used = true;
      connection.answering.add(response);
      response.once('close', () => connection.answering.delete(response));
      if (lettingGo) closeAfter(response);
    },
    letGo,
    drain() {
      letGo();
      draining ??= drainAll([...connections.values()]);
      return draining;
    },
    destroyIdle() {
      for (const { raw, answering } of connections.values()) if (answering.size === 0) raw.destroy();
    },
    destroyAll() {
      for (const { raw } of connections.values()) raw.destroy();
    },
  };
}

/** The plain socket and the TLS socket around it have this in common, and nothing else that is public. */
function peerOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`;
}

async function drainAll(connections: Connection[]): Promise<void> {
  // One that was never used may have its first review under way: it counts as new.
  const used = connections.filter((connection) => connection.used);
  const closed = used.map(({ raw }) => new Promise<void>((resolve) => raw.once('close', () => resolve())));
  for (const { tls, answering } of used) {
    if (answering.size === 0) tls?.end();
  }
  await Promise.all(closed);
}

/** Sends `Connection: close` with the answer, so that nothing can cross the closing on the wire. */
function closeAfter(response: ServerResponse): void {
  response.shouldKeepAlive = false;
}

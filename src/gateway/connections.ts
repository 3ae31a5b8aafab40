import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { LONGEST_MS } from './budget.ts';

/**
 * The connections of clients. kube-apiserver sends reviews over an open connection wherever the Service leads by now, for
 * as long as the connection stays open; so letting go has to come from this side.
 */
export interface Connections {
  /** Tells that a request came in, until its answer is out. */
  track(request: IncomingMessage, response: ServerResponse): void;
  /** From now on every connection gets one more answer, which closes it. Idle ones stay: closing them is for who sends. */
  closeAfterNextAnswer(): void;
  /** Lets go, closes idle connections, and resolves when all that were ever used are gone; a client that is not there any more is given up. */
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
  const closeAfterNextAnswer = (): void => {
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
    closeAfterNextAnswer,
    drain() {
      closeAfterNextAnswer();
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

/** A client that the way does not lead to any more never closes its side, and TCP finds out after a quarter of an hour. */
const GONE_MS = 3_000;

async function drainAll(connections: Connection[]): Promise<void> {
  // One that was never used may have its first review under way: it counts as new.
  await Promise.all(connections.filter((connection) => connection.used).map(drainOne));
}

async function drainOne({ raw, tls, answering }: Connection): Promise<void> {
  if (answering.size === 0) tls?.end();
  const giveUp = (ms: number): NodeJS.Timeout => setTimeout(() => raw.destroy(), ms);
  // No review is answered later than that.
  let patience = giveUp(LONGEST_MS + GONE_MS);
  void Promise.all([...answering].map(closing)).then(() => {
    clearTimeout(patience);
    if (!raw.destroyed) patience = giveUp(GONE_MS);
  });
  await closing(raw);
  clearTimeout(patience);
}

function closing(stream: Duplex | ServerResponse): Promise<void> {
  return new Promise((resolve) => stream.once('close', () => resolve()));
}

/** Sends `Connection: close` with the answer, so that nothing can cross the closing on the wire. */
function closeAfter(response: ServerResponse): void {
  response.shouldKeepAlive = false;
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { LONGEST_BUDGET_MS } from './gate.ts';
import type { Strangers } from './strangers.ts';

/**
 * The connections of clients. kube-apiserver keeps sending reviews over an open connection after the Service points elsewhere,
 * so this side has to close it.
 */
export interface Connections {
  /**
   * The connection is busy from this request until its answer is sent. False for a request that is not to be answered: kube-apiserver
   * waits for an answer before it uses the connection again.
   */
  track(request: IncomingMessage, response: ServerResponse): boolean;
  /** The connection belongs to kube-apiserver, as far as one can see. */
  recognize(request: IncomingMessage): void;
  /** From now on each connection gets one more answer and is then closed. Idle ones stay open until they have sent a request. */
  closeAfterNextAnswer(): void;
  /**
   * Closes idle connections at once and busy ones after their answer. Resolves when all connections that have ever been used
   * are closed; one whose client has disappeared is destroyed after a while.
   */
  drain(): Promise<void>;
  /** Destroys all connections without a request, including those that never sent one. */
  destroyIdle(): void;
  destroyAll(): void;
}

interface Connection {
  raw: Duplex;
  /** Of the client. */
  address: string;
  tls?: TLSSocket;
  answering: Set<ServerResponse>;
  /** A review or a probe came over it. */
  used: boolean;
}

/** More than an API server of a small cluster has requests in progress. */
const MOST_CONNECTIONS = 1_000;

export interface Admission {
  /** Whether this address may connect. */
  allows(address: string): boolean;
  strangers: Strangers;
  /** How many connections there can be; by default 1,000. */
  most?: number;
}

export function trackConnections(server: Server, admission: Admission): Connections {
  const connections = new Map<string, Connection>();
  let closingAll = false;
  let draining: Promise<void> | undefined;
  const closeAfterNextAnswer = (): void => {
    closingAll = true;
    for (const { answering } of connections.values()) for (const response of answering) closeAfter(response);
  };
  server.on('connection', (raw) => admit(raw as Socket, connections, admission));
  server.on('secureConnection', (tls) => {
    const connection = connections.get(peerOf(tls));
    if (connection !== undefined) connection.tls = tls;
  });
  return {
    track(request, response) {
      const connection = connections.get(peerOf(request.socket));
      if (connection === undefined) return false;
      if ([...connection.answering].some((earlier) => !earlier.writableEnded)) {
        admission.strangers.count('request');
        connection.raw.destroy();
        return false;
      }
      connection.answering.add(response);
      response.once('close', () => connection.answering.delete(response));
      if (closingAll) closeAfter(response);
      return true;
    },
    recognize(request) {
      const connection = connections.get(peerOf(request.socket));
      if (connection !== undefined) connection.used = true;
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

/** Keeps out who is not allowed. If there are too many connections, closes the one that kube-apiserver misses least. */
function admit(raw: Socket, connections: Map<string, Connection>, admission: Admission): void {
  const { allows, strangers, most = MOST_CONNECTIONS } = admission;
  const { remoteAddress } = raw;
  if (remoteAddress === undefined) return;
  if (!allows(remoteAddress)) {
    raw.destroy();
    strangers.keptOut(remoteAddress);
    return;
  }
  if (connections.size >= most) {
    const oldest = leastMissed([...connections.values()], remoteAddress);
    (oldest ?? raw).destroy();
    strangers.count('connection');
    if (oldest === undefined) return;
  }
  const peer = peerOf(raw);
  connections.set(peer, { raw, address: remoteAddress, answering: new Set(), used: false });
  raw.once('close', () => connections.delete(peer));
}

/**
 * The oldest one that carried no review, which kube-apiserver sends at once; else the oldest without a complete request. An incomplete
 * one does not count, because a stranger can leave it incomplete until its budget is used. If all have one, the oldest of the address
 * that has the most connections, unless the new one is from there, too.
 */
function leastMissed(all: Connection[], newcomer: string): Duplex | undefined {
  const open = all.filter(({ raw }) => !raw.destroyed);
  const isIdle = ({ answering }: Connection): boolean => ![...answering].some(({ req }) => req.complete);
  const addresses = [...Map.groupBy(open, ({ address }) => address).values()];
  const [most] = addresses.sort((one, other) => other.length - one.length);
  const greedy = most?.find(({ address }) => address !== newcomer);
  return (open.find(({ used }) => !used) ?? open.find(isIdle) ?? greedy)?.raw;
}

/** The only public property that a TLS socket shares with the plain socket inside it. */
function peerOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`;
}

/** A client that is no longer reachable never closes its side, and TCP needs 15 minutes to notice. */
const GONE_MS = 3_000;

async function drainAll(connections: Connection[]): Promise<void> {
  // The first review of an unused connection may be under way, so that connection counts as new.
  await Promise.all(connections.filter((connection) => connection.used).map(drainOne));
}

async function drainOne({ raw, tls, answering }: Connection): Promise<void> {
  if (answering.size === 0) tls?.end();
  const giveUp = (ms: number): NodeJS.Timeout => setTimeout(() => raw.destroy(), ms);
  // No review is answered later than this.
  let patience = giveUp(LONGEST_BUDGET_MS + GONE_MS);
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

/** Sends `Connection: close` with the answer, so that the client sends no further review while this side closes. */
function closeAfter(response: ServerResponse): void {
  response.shouldKeepAlive = false;
}

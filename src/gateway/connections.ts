import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { LONGEST_BUDGET_MS } from './budget.ts';
import type { Strangers } from './strangers.ts';

/**
 * The connections of clients. kube-apiserver keeps sending reviews over an open connection after the Service points elsewhere,
 * so this side has to close it.
 */
export interface Connections {
  /**
   * Makes the connection busy until the answer to this request is sent. Returns false if the request must not be answered: it came before
   * the answer to an earlier request, and kube-apiserver would have waited for that answer.
   */
  track(request: IncomingMessage, response: ServerResponse): boolean;
  /** Notes that the connection seems to be kube-apiserver's. */
  recognize(request: IncomingMessage, what: 'review' | 'probe'): void;
  /**
   * The time in ms that a request and its answer spend on the network: one round trip, and for the first request of a connection also the
   * round trips of the TCP and TLS handshakes.
   */
  travelMs(request: IncomingMessage): number;
  /**
   * After this call, each connection gets one more answer and is then closed. Idle connections stay open until they have sent a request.
   */
  closeAfterNextAnswer(): void;
  /**
   * Waits until no review has come for a second. Then closes idle connections at once, busy ones after their answer, and new ones after
   * their first answer. Resolves when they are closed, but does not wait for a new connection over which no review comes in time. A
   * connection whose client has disappeared is destroyed.
   */
  drain(): Promise<void>;
  /** Destroys all connections without a request, including those that never sent one. */
  destroyIdle(): void;
  destroyAll(): void;
}

interface Connection {
  raw: Duplex;
  /** The client's address. */
  address: string;
  /** When it was opened, on the clock of `performance.now()`. */
  openedAt: number;
  tls?: TLSSocket;
  /** This is measured as the time of the TLS handshake, which takes one round trip as seen from here. */
  roundTripMs: number;
  answering: Set<ServerResponse>;
  /** Whether a review or a probe has come over this connection. */
  used: boolean;
}

/** An API server of a small cluster never has this many requests in progress. */
const MOST_CONNECTIONS = 1_000;
/**
 * The round trips of the TCP and TLS handshakes, and of the request and its answer. Opening the channel of a tunnel takes part of another
 * one.
 */
const ROUND_TRIPS_OF_FIRST = 3.5;

export interface Admission {
  /** Whether this address is allowed to connect. */
  allows(address: string): boolean;
  strangers: Strangers;
  /** How many connections there can be; by default 1,000. */
  most?: number;
}

export function trackConnections(server: Server, admission: Admission): Connections {
  const connections = new Map<string, Connection>();
  let closingAll = false;
  let lastReviewAt = Number.NEGATIVE_INFINITY;
  let draining: Promise<void> | undefined;
  const closeAfterNextAnswer = (): void => {
    closingAll = true;
    for (const { answering } of connections.values()) for (const response of answering) closeAfter(response);
  };
  server.on('connection', (raw) => admit(raw as Socket, connections, admission));
  server.on('secureConnection', (tls) => {
    const connection = connections.get(peerOf(tls));
    if (connection === undefined) return;
    connection.tls = tls;
    connection.roundTripMs = performance.now() - connection.openedAt;
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
    recognize(request, what) {
      if (what === 'review') lastReviewAt = performance.now();
      const connection = connections.get(peerOf(request.socket));
      if (connection !== undefined) connection.used = true;
    },
    travelMs(request) {
      const connection = connections.get(peerOf(request.socket));
      return connection ? connection.roundTripMs * (connection.used ? 1 : ROUND_TRIPS_OF_FIRST) : 0;
    },
    closeAfterNextAnswer,
    drain() {
      closeAfterNextAnswer();
      draining ??= untilLull(() => lastReviewAt).then(() => drainAll(connections));
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

/**
 * Keeps out addresses that are not allowed. If there are too many connections, closes the one that kube-apiserver is least likely to need.
 */
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
  const openedAt = performance.now();
  const unused = { openedAt, roundTripMs: 0, used: false };
  const connection = { raw, address: remoteAddress, answering: new Set<ServerResponse>(), ...unused };
  connections.set(peer, connection);
  // A client that has reset a connection may have opened the next one from the same port before this event.
  raw.once('close', () => connections.get(peer) === connection && connections.delete(peer));
}

/**
 * Returns the oldest connection that has carried no review, since kube-apiserver sends one at once. If all have carried one, returns the
 * oldest without a complete request; an incomplete request does not count, since a stranger can leave it incomplete until its budget is
 * used. If all have a complete request, returns the oldest from the address with the most connections, unless the new connection is also
 * from that address.
 */
function leastMissed(all: Connection[], newcomer: string): Duplex | undefined {
  const open = all.filter(({ raw }) => !raw.destroyed);
  const isIdle = ({ answering }: Connection): boolean => ![...answering].some(({ req }) => req.complete);
  const addresses = [...Map.groupBy(open, ({ address }) => address).values()];
  const [most] = addresses.sort((one, other) => other.length - one.length);
  const greedy = most?.find(({ address }) => address !== newcomer);
  return (open.find(({ used }) => !used) ?? open.find(isIdle) ?? greedy)?.raw;
}

/** Identifies a connection by the only public property that a TLS socket shares with the plain socket inside it. */
function peerOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`;
}

/** A client that is no longer reachable never closes its side, and TCP needs 15 minutes to notice. */
const GONE_MS = 3_000;

/** kube-apiserver connects when it has a review to send, and sends it as soon as the handshake is done. */
const FIRST_REVIEW_MS = 1_000;

/** If no review has come for this long, it is unlikely that the next one arrives just while a connection is being closed. */
const LULL_MS = 1_000;

/** The longest wait for such a lull. During the wait, each answer closes a connection, so that kube-apiserver has fewer and fewer left. */
const LONGEST_LULL_WAIT_MS = 10_000;

/**
 * Waits until no review has come for LULL_MS, but not longer than LONGEST_LULL_WAIT_MS. Without this wait, the next review may be in
 * transit on any connection, even one that is still idle, unused, or inside a tunnel, and would be lost if this side closed that
 * connection.
 */
async function untilLull(lastReviewAt: () => number): Promise<void> {
  const deadline = performance.now() + LONGEST_LULL_WAIT_MS;
  const left = (): number => Math.min(lastReviewAt() + LULL_MS, deadline) - performance.now();
  for (let ms = left(); ms > 0; ms = left()) await sleep(ms);
}

/** A busy machine can accept a connection late, so a connection that was opened before the drain can appear after the drain has begun. */
async function drainAll(connections: Map<string, Connection>): Promise<void> {
  const lateFrom = performance.now() + FIRST_REVIEW_MS;
  const seen = new Set<Connection>();
  const drainNew = async (): Promise<void> => {
    const added = [...connections.values()].filter((one) => one.openedAt < lateFrom && !seen.has(one));
    for (const one of added) seen.add(one);
    await Promise.all(added.map((one) => (one.used ? drainOne(one) : untilUsed(one))));
    if (added.length > 0) await drainNew();
  };
  await drainNew();
}

/** Resolves when an unused connection is closed after its first answer, or when it has sent no review in time. */
async function untilUsed(connection: Connection): Promise<void> {
  const { raw, openedAt } = connection;
  const patience = new AbortController();
  const left = Math.max(0, openedAt + FIRST_REVIEW_MS - performance.now());
  await Promise.race([closing(raw), sleep(left, undefined, { signal: patience.signal }).catch(() => {})]);
  patience.abort();
  if (!raw.destroyed && connection.answering.size > 0) await drainOne(connection);
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

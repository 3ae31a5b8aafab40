import type { Server } from 'node:https';
import { createWarner } from '../async.ts';
import type { Emit } from '../report/events.ts';
import { Bodies } from './bodies.ts';
import { type Connections, trackConnections } from './connections.ts';
import { type ControllerAddress, createForwarder, type Forwarder } from './forward.ts';
import { createGate, type Gate } from './gate.ts';
import type { ReviewHooks } from './hooks.ts';
import type { OwnAnswers } from './own.ts';
import { createPaths, isForApi, type Paths } from './paths.ts';
import { type Closing, type ReviewContext, serveReview } from './review.ts';
import { createStrangers } from './strangers.ts';
import { createTlsServer, type KeyPair, listen } from './tls.ts';

export interface GatewayOptions {
  host: string;
  /** The port to listen on; any free one if it is 0 or absent. */
  port?: number;
  sessionId: string;
  /** The controller's address. Nothing has to listen there yet. */
  controller: ControllerAddress;
  /** Whether this address is allowed to connect; by default every address is. */
  allows?: (address: string) => boolean;
  /** Whether every host that reaches the port can connect, and not only this machine, or who is allowed to. */
  isOpen?: boolean;
  /**
   * Names of the APIServices whose requests also arrive here. The gateway does not serve these requests, but does not report their sender
   * as a stranger.
   */
  apis?: readonly string[];
  /** What the session does with each review. */
  hooks?: ReviewHooks;
  emit: Emit;
}

/** The TLS server on this machine where the route ends. */
export interface Gateway extends OuterGate, Pick<Paths, 'accept' | 'refuse' | 'ask'>, AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** See `Forwarder.post`. */
  post: Forwarder['post'];
  /** Adds or replaces the key pair of a server name, for new connections. Other names get the first pair presented. */
  present(serverName: string, pair: KeyPair): void;
  /** Presents a key pair to clients that request its server name, until disposed. */
  presentOnly(serverName: string, pair: KeyPair): Disposable;
  /** Some of the addresses that were not allowed to connect. */
  readonly keptOut: readonly string[];
  /** Until this is disposed, devloop answers these reviews itself, even if reviews are held. */
  answerOwn(own: OwnAnswers): Disposable;
  /** The number of reviews that are waiting. */
  readonly held: number;
  /**
   * After this call, each connection gets one more answer and is then closed, so the connections of busy clients are closed before `drain`.
   * This is final.
   */
  closeAfterNextAnswer(): void;
  /**
   * Once no review has come for a second, closes idle connections at once, busy ones after their answer, and new ones after their first
   * answer. This is final. Resolves when all these connections are closed. A connection over which no review comes is not waited for.
   */
  drain(): Promise<void>;
}

/** The part of the gate that others open and close. */
export type OuterGate = Pick<
  Gate,
  'hold' | 'release' | 'holdForUser' | 'releaseForUser' | 'controllerDown' | 'failFast'
>;

/** How long the gateway waits for the controller's last answers when it closes. */
const CLOSE_MS = 2000;

export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { host, sessionId, controller, emit, isOpen = false, allows = () => true, apis = [] } = options;
  const warn = createWarner(emit);
  const strangers = createStrangers({ emit, isOpen });
  const { server, present, presentOnly } = createTlsServer({
    warn,
    stranger: () => strangers.count('connection'),
  });
  const connections = trackConnections(server, { allows, strangers });
  const gate = createGate();
  const paths = createPaths();
  const forwarder = createForwarder(controller);
  const closing: Closing = { hasBegun: false, listeners: new Set() };
  const owns = new Set<OwnAnswers>();
  const context: ReviewContext = {
    ...{ owns, sessionId, controller, gate, forwarder, paths, warn, closing },
    hooks: options.hooks ?? {},
    ...{ bodies: new Bodies(), answers: new Bodies() },
    ...{ recognize: connections.recognize, travelMs: connections.travelMs },
    countStranger: (url) => void (isForApi(url, apis) || strangers.count('request')),
  };
  server.on('request', (request, response) => {
    if (connections.track(request, response)) void serveReview(context, request, response);
  });
  const port = await listen(server, host, options.port ?? 0);
  let closed: Promise<void> | undefined;
  return {
    host,
    port,
    ...{ accept: paths.accept, refuse: paths.refuse, ask: paths.ask },
    post: forwarder.post,
    present,
    presentOnly,
    get keptOut() {
      return strangers.addresses;
    },
    ...{ hold: gate.hold, release: gate.release },
    ...{ holdForUser: gate.holdForUser, releaseForUser: gate.releaseForUser },
    ...{ controllerDown: gate.controllerDown, failFast: gate.failFast },
    answerOwn(own) {
      owns.add(own);
      return { [Symbol.dispose]: () => void owns.delete(own) };
    },
    get held() {
      return gate.held;
    },
    closeAfterNextAnswer: connections.closeAfterNextAnswer,
    drain: connections.drain,
    [Symbol.asyncDispose]() {
      closed ??= close(server, connections, closing).finally(() => {
        forwarder.close();
        strangers[Symbol.dispose]();
      });
      return closed;
    },
  };
}

async function close(server: Server, connections: Connections, closing: Closing): Promise<void> {
  const ended = new Promise<void>((resolve) => server.close(() => resolve()));
  closing.hasBegun = true;
  for (const listener of closing.listeners) listener();
  void connections.drain();
  connections.destroyIdle();
  const timer = setTimeout(() => connections.destroyAll(), CLOSE_MS);
  await ended;
  clearTimeout(timer);
}

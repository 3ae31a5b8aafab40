import type { IncomingMessage } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { sleep } from '../async.ts';
import { selfSignedPair } from '../certificates/self-signed.ts';
import { afterSleep } from '../machine/elapsed.ts';
import { closeToOtherUsers, listenOn } from '../machine/port.ts';
import { Admission } from './admission.ts';
import { type Refusal, refuse, refuseUpgrade } from './answers.ts';
import type { ServedCall } from './observed.ts';
import { type ApiProxyParts, passOn, passOnUpgrade } from './pass-on.ts';

export interface ApiProxy extends AsyncDisposable {
  /** A Pod's program finds the API server by the same variables. */
  variables: Record<string, string>;
  certificate: string;
  /** The socket on which a controller that devloop built reports its reconciles. */
  reports: string | undefined;
  /** Lets programs in by a new token. `served`: is told their calls, if calls are observed at all. */
  admit(served?: (call: ServedCall) => void): Admission;
}

const DAYS = 30;
const MOST_LISTENERS = 20;
const LOOK_EVERY_MS = 2_000;
/** A busy machine delays a timer for less time than this. NAT and VPNs keep connections for longer. */
const ASLEEP_MS = 15_000;
/** The API server's own limit. A selector can make a path long. */
const MOST_HEADERS = 2 ** 20;
/**
 * client-go keeps idle connections for 90 s, also those that it has never used. If the proxy closed one before, a write that is on its way would
 * be lost.
 */
const IDLE_MS = 120_000;
const LAST_CALLS_MS = 1_000;
const UNKNOWN: Refusal = { code: 401, reason: 'Unauthorized', message: 'Unauthorized' };

/** Listens on loopback for the controller, and forwards what it asks of the API server. Requests without an admitted token are refused. */
export async function openApiProxy(parts: ApiProxyParts): Promise<ApiProxy> {
  const { certificate, key } = await selfSignedPair(['localhost'], { days: DAYS });
  const admissions: Admission[] = [];
  const running = new Running();
  // The last ones are in use. Those before them are kept, so that what they have left behind gets a clear answer.
  const admitted = ({ headers: { authorization = '' } }: IncomingMessage): Admission | Refusal => {
    const admission = admissions.findLast((one) => one.admits(authorization));
    return admission?.refusal() ?? admission ?? UNKNOWN;
  };
  const server = createServer(
    {
      ...{ cert: certificate, key, maxHeaderSize: MOST_HEADERS },
      ...{ keepAliveTimeout: IDLE_MS, headersTimeout: IDLE_MS },
    },
    (request, response) => {
      const admission = admitted(request);
      if (!(admission instanceof Admission)) return void refuse(response, admission);
      admission.follow(request.socket);
      running.add(passOn(admission.parts, request, response));
    },
  );
  server.on('upgrade', (request, socket, head) => {
    // Node's own listeners and those of the stream in both directions are more than ten.
    socket.setMaxListeners(MOST_LISTENERS);
    socket.on('error', () => socket.destroy());
    const admission = admitted(request);
    if (!(admission instanceof Admission)) return void refuseUpgrade(socket, admission);
    admission.follow(socket);
    if (head.length > 0) socket.unshift(head);
    running.add(passOnUpgrade(admission.parts, request, socket));
  });
  closeToOtherUsers(server);
  const closeAll = followed(server);
  // The connections to the API server may be dead without notice, and the controller would wait for events that never come.
  const sleeping = afterSleep(closeAll, {
    everyMs: LOOK_EVERY_MS,
    asleepMs: ASLEEP_MS,
  });
  const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
  return {
    // This is not the IP address, because the certificate contains only names.
    variables: { KUBERNETES_SERVICE_HOST: 'localhost', KUBERNETES_SERVICE_PORT: String(port) },
    certificate,
    reports: parts.reports,
    admit(served) {
      const admission = new Admission(parts, served);
      admissions.push(admission);
      return admission;
    },
    async [Symbol.asyncDispose]() {
      sleeping[Symbol.dispose]();
      const closed = new Promise((resolve) => server.close(resolve));
      closeAll();
      await closed;
      await running.ended();
    },
  };
}

/** Returns what closes all connections: the server itself closes only those that speak HTTP. */
function followed(server: Server): () => void {
  const connections = new Set<Duplex>();
  server.on('connection', (socket: Socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  return () => {
    for (const connection of connections) connection.destroy();
  };
}

/** The calls that have not ended. */
class Running {
  #calls = new Set<Promise<void>>();

  add(call: Promise<void>): void {
    this.#calls.add(call);
    void call.finally(() => this.#calls.delete(call));
  }

  /** Resolves when all have ended, so that each is recorded. Their connections are closed by then, but a login takes as long as it takes. */
  async ended(): Promise<void> {
    const over = new AbortController();
    await Promise.race([Promise.allSettled(this.#calls), sleep(LAST_CALLS_MS, over.signal)]);
    over.abort();
  }
}

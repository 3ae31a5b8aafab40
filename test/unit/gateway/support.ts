import { once } from 'node:events';
import type { IncomingMessage, RequestListener } from 'node:http';
import { Agent, createServer, request as httpsRequest, type RequestOptions, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { selfSignedPair } from '../../../src/certificates/self-signed.ts';
import { type Gateway, type GatewayOptions, startGateway } from '../../../src/gateway/gateway.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { freePort } from '../../support/free-port.ts';

export const NAME = 'webhook.test.svc';
export const pair = await selfSignedPair([NAME], { days: 1 });
export const otherPair = await selfSignedPair(['other.test.svc'], { days: 1 });

/** The paths that the webhook configurations of these tests call. */
export const PATHS = [
  '/',
  '/validate',
  '/convert',
  '/before',
  '/after',
  '/idle',
  '/slow',
  '/late',
  '/again',
  '/stuck',
  '/held',
];

/** A real HTTPS server that can stop abruptly, like a process that ends, and start again on its port. */
export class Controller {
  readonly seen: string[] = [];
  port = 0;
  #server: Server | undefined;
  readonly #sockets = new Set<Socket>();
  answer: RequestListener;

  constructor(answer: RequestListener = (_request, response) => response.end('{"answered":true}')) {
    this.answer = answer;
  }

  async start(): Promise<void> {
    const server = createServer({ cert: pair.certificate, key: pair.key }, (request, response) => {
      this.seen.push(request.url ?? '');
      this.answer(request, response);
    });
    server.on('connection', (socket: Socket) => {
      // The kernel accepted this connection before the stop.
      if (!server.listening) return void socket.resetAndDestroy();
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    server.on('tlsClientError', () => {});
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    this.port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    server.close();
    for (const socket of this.#sockets) socket.resetAndDestroy();
    await once(server, 'close');
  }

  get connections(): number {
    return this.#sockets.size;
  }
}

export interface Bench extends AsyncDisposable {
  gateway: Gateway;
  controller: Controller;
  events: DevloopEvent[];
  agent: Agent;
  ask(path: string, options?: Ask): Promise<Reply>;
}

export interface Ask {
  method?: string;
  body?: string | Buffer;
  headers?: Record<string, string>;
  agent?: Agent | false;
  signal?: AbortSignal;
}

export interface Reply {
  status: number;
  headers: IncomingMessage['headers'];
  text: string;
}

/** A gateway in front of a controller, and a client that keeps its connections, like kube-apiserver. */
export async function setUp(
  controller = new Controller(),
  { start = true, ...options }: { start?: boolean } & Partial<GatewayOptions> = {},
): Promise<Bench> {
  if (start) await controller.start();
  else controller.port = await freePort();
  const events: DevloopEvent[] = [];
  const gateway = await startGateway({
    host: '127.0.0.1',
    sessionId: 's1',
    controller: { host: '127.0.0.1', port: controller.port },
    emit: (event) => events.push(event),
    ...options,
  });
  gateway.accept(PATHS);
  gateway.present(NAME, pair);
  const agent = new Agent({ keepAlive: true });
  return {
    gateway,
    controller,
    events,
    agent,
    ask: (path, options = {}) => ask(gateway.port, path, { agent, ...options }),
    async [Symbol.asyncDispose]() {
      agent.destroy();
      await gateway[Symbol.asyncDispose]();
      await controller.stop();
    },
  };
}

export function ask(port: number, path: string, options: Ask = {}): Promise<Reply> {
  const { body = '{}', method = 'POST', ...rest } = options;
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      {
        host: '127.0.0.1',
        port,
        path,
        method,
        servername: NAME,
        ca: pair.certificate,
        ...rest,
      } satisfies RequestOptions,
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(chunks).toString(),
          }),
        );
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

/** Polls until the condition is true. */
export async function until(condition: () => boolean, limitMs = 5000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not so within ${limitMs} ms: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

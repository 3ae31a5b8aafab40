import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { selfSignedPair } from '../../src/certificates/self-signed.ts';

/** A call as the proxy sees it, before it reaches the API server. */
export interface Call {
  /** How many calls with this `key` came before it. */
  occurrence: number;
  /** The method and path, with `#` in place of random parts. */
  key: string;
  isWrite: boolean;
  /** On the clock of `performance.now()`. */
  startedAt: number;
  endedAt: number;
}

export const FAULTS = [
  ...['401', '403', '404', '409', '410', '422', '429', '500', '503'],
  ...['reset before', 'reset after', 'hang', 'cut JSON', 'wrong type'],
] as const;
/** `late`: the answer comes so late that calls which do not wait for each other overlap, however busy the machine is. */
export type Fault = (typeof FAULTS)[number] | 'late' | 'kill before' | 'kill after';

const LATE_MS = 400;

/** Answers devloop in front of a real API server. It calls the API server as the administrator, whoever calls it. */
export interface FaultProxy extends AsyncDisposable {
  /** A copy of the kubeconfig with the proxy's address. */
  kubeconfig: string;
  /** The calls since the last `reset`. */
  calls: Call[];
  /** Forgets the calls, and sets what happens to the next ones: a fault, or undefined to pass the call on. */
  reset(decide?: (call: Call) => Fault | undefined, kill?: () => void): void;
}

const REASONS: Record<string, string> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
};

export async function faultProxy(kubeconfig: string): Promise<FaultProxy> {
  const config = JSON.parse(await readFile(kubeconfig, 'utf8'));
  const upstream = upstreamOf(config);
  const pair = await selfSignedPair(['localhost'], { days: 2 });
  let calls: Call[] = [];
  let decide: (call: Call) => Fault | undefined = () => undefined;
  let kill = (): void => {};
  const server = createServer({ key: pair.key, cert: pair.certificate }, (request, response) => {
    const key = keyOf(request);
    const occurrence = calls.filter((one) => one.key === key).length;
    const isWrite = request.method !== 'GET' && !/reviews$/.test(key);
    const endedAt = Number.POSITIVE_INFINITY;
    const call: Call = { key, occurrence, isWrite, startedAt: performance.now(), endedAt };
    calls.push(call);
    response.once('finish', () => (call.endedAt = performance.now()));
    void answer(decide(call), { request, response, upstream, kill }).catch(() => response.destroy());
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  const cluster = {
    server: `https://localhost:${(server.address() as AddressInfo).port}`,
    'certificate-authority-data': Buffer.from(pair.certificate).toString('base64'),
  };
  config.clusters[0].cluster = cluster;
  config.users[0].user = { token: 'anybody' };
  const copy = `${kubeconfig}.faults`;
  await writeFile(copy, JSON.stringify(config), { mode: 0o600 });
  return {
    kubeconfig: copy,
    get calls() {
      return calls;
    },
    reset(next = () => undefined, nextKill = () => {}) {
      calls = [];
      decide = next;
      kill = nextKill;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      upstream.agent.destroy();
    },
  };
}

interface Upstream {
  server: URL;
  agent: Agent;
}

function upstreamOf(config: {
  clusters: { cluster: Record<string, string> }[];
  users: { user: Record<string, string> }[];
}): Upstream {
  const bytes = (text = ''): Buffer => Buffer.from(text, 'base64');
  const { cluster } = config.clusters[0]!;
  const { user } = config.users[0]!;
  const agent = new Agent({
    keepAlive: true,
    ca: bytes(cluster['certificate-authority-data']),
    cert: bytes(user['client-certificate-data']),
    key: bytes(user['client-key-data']),
  });
  return { server: new URL(cluster.server!), agent };
}

/** Session ids, nonces and the suffixes of names are random. */
function keyOf({ method, url = '' }: IncomingMessage): string {
  const path = decodeURIComponent(url).replaceAll(/[0-9a-f]{6,}/g, '#');
  return `${method} ${path.replaceAll(/(endpointslices\/\w+)-[a-z0-9]{5}(?=$|\?)/g, '$1-#')}`;
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  upstream: Upstream;
  kill: () => void;
}

async function answer(fault: Fault | undefined, exchange: Exchange): Promise<void> {
  const { request, response, kill } = exchange;
  const body = Buffer.concat(await request.toArray());
  if (fault === 'hang') return;
  if (fault === 'reset before') return void request.socket.destroy();
  if (fault === 'kill before') {
    kill();
    return void request.socket.destroy();
  }
  if (fault !== undefined && fault in REASONS) return refuse(response, Number(fault));
  if (fault === 'late') await pause(LATE_MS);
  const answered = await passOn(exchange, body);
  const { statusCode = 502, headers } = answered;
  const type = { 'content-type': headers['content-type'] ?? 'application/json' };
  if (fault === undefined || fault === 'late')
    return void answered.pipe(response.writeHead(statusCode, headers));
  const text = Buffer.concat(await answered.toArray());
  if (fault === 'cut JSON') response.writeHead(statusCode, type).end(text.subarray(0, text.length / 2));
  else if (fault === 'wrong type') response.writeHead(statusCode, type).end('{"kind":"Other","items":7}');
  else {
    if (fault === 'kill after') kill();
    request.socket.destroy();
  }
}

function refuse(response: ServerResponse, code: number): void {
  const reason = REASONS[code]!;
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    message: `fault ${reason}`,
    reason,
    code,
  };
  const headers = { 'content-type': 'application/json', ...(code === 429 ? { 'retry-after': '1' } : {}) };
  response.writeHead(code, headers).end(JSON.stringify(status));
}

async function passOn(
  { request: { method, url, headers }, response, upstream }: Exchange,
  body: Buffer,
): Promise<IncomingMessage> {
  const { authorization: _, host: __, connection: ___, ...rest } = headers;
  const call = httpsRequest(new URL(url!, upstream.server), { method, headers: rest, agent: upstream.agent });
  response.on('close', () => call.destroy());
  call.end(body);
  const [answered] = (await once(call, 'response')) as [IncomingMessage];
  return answered;
}

import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import type { Pair } from './certificates.ts';

export interface Recorder extends AsyncDisposable {
  port: number;
  /** What each request said about its sender, and where it was sent. */
  seen: string[];
}

export interface RecorderSettings {
  /** Absent for plain HTTP. */
  pair?: Pair;
  /** Further certificates that the server presents. */
  chain?: string;
  address?: string;
  /** The `authorization` that it accepts; any by default. */
  accepts?: string;
  /** Whether it does not ask for a client certificate. */
  asksNoCertificate?: boolean;
  /** Redirects each request to this path first. */
  redirectsTo?: string;
}

/** An API server that answers who somebody is, and records who that was. */
export async function openRecorder(settings: RecorderSettings): Promise<Recorder> {
  const seen: string[] = [];
  const answer: RequestListener = async (request, response) => {
    const body = await textOf(request);
    seen.push(describe(request));
    const { accepts, redirectsTo } = settings;
    const json = { 'content-type': 'application/json' };
    const issued = request.url!.startsWith('/issuer/') && issue(request, body);
    if (issued) return void response.writeHead(issued.status, json).end(JSON.stringify(issued.answer));
    if (redirectsTo !== undefined && request.url !== redirectsTo) {
      response.writeHead(307, { location: redirectsTo }).end();
    } else if (accepts !== undefined && request.headers.authorization !== accepts) {
      const status = {
        kind: 'Status',
        apiVersion: 'v1',
        status: 'Failure',
        reason: 'Unauthorized',
        code: 401,
      };
      response.writeHead(401, json).end(JSON.stringify({ ...status, message: 'Unauthorized' }));
    } else response.writeHead(201, json).end(JSON.stringify(REVIEW));
  };
  const server = serverOf(settings, answer);
  server.on('clientError', (_error, socket) => socket.destroy());
  server.on('tlsClientError', () => undefined);
  server.listen(0, settings.address ?? '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function serverOf(
  { pair, chain = '', asksNoCertificate }: RecorderSettings,
  answer: RequestListener,
): Server {
  if (pair === undefined) return createServer(answer);
  return createTlsServer(
    {
      ...{ cert: pair.certificate + chain, key: pair.key, ciphers: 'DEFAULT@SECLEVEL=0' },
      ...{ requestCert: !asksNoCertificate, rejectUnauthorized: false },
    },
    answer,
  ) as unknown as Server;
}

/** As OpenID Connect requires. */
function issue({ url, headers }: IncomingMessage, body: string): { status: number; answer: object } {
  if (url === '/issuer/.well-known/openid-configuration')
    return { status: 200, answer: { token_endpoint: `https://${headers.host}/issuer/token` } };
  const form = new URLSearchParams(body);
  if (form.get('grant_type') !== 'refresh_token' || form.get('refresh_token') !== 'r')
    return { status: 400, answer: { error: 'invalid_grant' } };
  const tokens = { access_token: 'a', id_token: `${btoa('{}')}.${btoa('{"exp":4000000000}')}.new` };
  return { status: 200, answer: { ...tokens, refresh_token: 'r2', token_type: 'Bearer' } };
}

const REVIEW = {
  kind: 'SelfSubjectReview',
  apiVersion: 'authentication.k8s.io/v1',
  metadata: { creationTimestamp: null },
  status: { userInfo: { username: 'somebody', groups: ['system:authenticated'] } },
};

function describe({ method, url, headers, headersDistinct, socket }: IncomingMessage): string {
  const { servername, getPeerCertificate } = socket as TLSSocket;
  const cert = getPeerCertificate?.call(socket, false).subject?.CN;
  const impersonated = Object.entries(headersDistinct)
    .filter(([name]) => name.startsWith('impersonate-'))
    .map(([name, values]) => `${name}=${values}`)
    .sort();
  const parts = [
    ...[`${method} ${url}`, `host=${headers.host?.replace(/:\d+$/, '').toLowerCase()}`],
    ...(headers.authorization === undefined ? [] : [`authorization=${headers.authorization}`]),
    ...(cert ? [`cert=${cert}`] : []),
    ...(servername ? [`sni=${String(servername).toLowerCase()}`] : []),
    ...impersonated,
  ];
  return parts.join(' ');
}

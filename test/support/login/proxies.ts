import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Pair } from './certificates.ts';

export interface ProxyServer extends AsyncDisposable {
  port: number;
  /** What it was asked for, and by whom. */
  asked: string[];
}

/** Whatever a proxy is asked for, it connects to this port of loopback, so that names need not exist. */
export type Target = () => { host: string; port: number };

export interface ProxySettings {
  kind: 'http' | 'https' | 'socks5';
  pair?: Pair;
  /** `user:password`, which it demands. */
  login?: string;
  /** The status with which it answers instead. */
  refuses?: number;
}

export async function openProxy(settings: ProxySettings, target: Target): Promise<ProxyServer> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server =
    settings.kind === 'socks5' ? socksServer(settings, target, asked) : httpServer(settings, target, asked);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function httpServer({ pair, login, refuses }: ProxySettings, target: Target, asked: string[]): Server {
  const wanted = login && `Basic ${Buffer.from(login).toString('base64')}`;
  const note = ({ method, url = '', headers, socket }: IncomingMessage): number => {
    const given = headers['proxy-authorization'];
    const cert = (socket as TLSSocket).getPeerCertificate?.().subject?.CN;
    const where = url.replace(`:${target().port}`, ':PORT');
    asked.push(
      `${method} ${where}${given ? ` proxy-authorization=${given}` : ''}${cert ? ` cert=${cert}` : ''}`,
    );
    return refuses ?? (wanted !== undefined && given !== wanted ? 407 : 200);
  };
  const answer = (request: IncomingMessage, response: import('node:http').ServerResponse): void => {
    const status = note(request);
    if (status !== 200) return void response.writeHead(status).end();
    const { method, headers, url = '' } = request;
    const { pathname, search } = new URL(url, 'http://x');
    const passed = httpRequest({ ...target(), method, headers, path: pathname + search }, (got) => {
      response.writeHead(got.statusCode!, got.headers);
      got.pipe(response);
    });
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  };
  const server =
    pair === undefined
      ? createServer(answer)
      : createTlsServer(
          { cert: pair.certificate, key: pair.key, requestCert: true, rejectUnauthorized: false },
          answer,
        );
  server.on('connect', (request: IncomingMessage, client: Duplex) => {
    const status = note(request);
    if (status !== 200) return void client.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`);
    const upstream = connect(target(), () => client.write('HTTP/1.1 200 Connection established\r\n\r\n'));
    join(client, upstream);
  });
  return server as Server;
}

function join(client: Duplex, upstream: Socket): void {
  client.on('error', () => upstream.destroy());
  upstream.on('error', () => client.destroy());
  client.pipe(upstream).pipe(client);
}

/** As in RFC 1928 and 1929. */
function socksServer({ login }: ProxySettings, target: Target, asked: string[]): TcpServer {
  return createTcpServer(async (socket) => {
    socket.on('error', () => undefined);
    const take = reader(socket);
    const given = await loginAt(socket, take, login);
    if (given === undefined) return void socket.end();
    asked.push(`SOCKS5 ${await addressAt(take, target().port)}${given ? ` login=${given}` : ''}`);
    const upstream = connect(target(), () => {
      socket.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
      join(socket, upstream);
    });
    upstream.on('error', () => socket.destroy());
  });
}

const NO_LOGIN = 0;
const WITH_PASSWORD = 2;
const NONE = 255;

/** Undefined if the client is not accepted. */
async function loginAt(socket: Socket, take: Take, login?: string): Promise<string | undefined> {
  const [version, count] = await take(2);
  if (version !== 5) return void socket.write(Buffer.from([5, NONE]));
  const offered = [...(await take(count!))];
  const wanted = login === undefined ? [NO_LOGIN, WITH_PASSWORD] : [WITH_PASSWORD];
  const method = wanted.find((one) => offered.includes(one)) ?? NONE;
  socket.write(Buffer.from([5, method]));
  if (method === NONE) return undefined;
  if (method === NO_LOGIN) return '';
  const [, length] = await take(2);
  const user = await take(length!);
  const given = `${user}:${await take((await take(1))[0]!)}`;
  const isRight = login === undefined || given === login;
  socket.write(Buffer.from([1, isRight ? 0 : 1]));
  return isRight ? given : undefined;
}

async function addressAt(take: Take, known: number): Promise<string> {
  const [, , , type] = await take(4);
  const lengths: Record<number, number> = { 1: 4, 4: 16 };
  const bytes = await take(lengths[type!] ?? (await take(1))[0]!);
  const port = (await take(2)).readUInt16BE();
  return `${type === 3 ? bytes : [...bytes].join('.')}:${port === known ? 'PORT' : port}`;
}

type Take = (count: number) => Promise<Buffer>;

/** Reads exactly as many bytes as asked for. */
function reader(socket: Socket): Take {
  return async (count) => {
    for (;;) {
      const part = count === 0 ? Buffer.alloc(0) : (socket.read(count) as Buffer | null);
      if (part !== null) return part;
      await once(socket, 'readable', { signal: AbortSignal.timeout(20_000) });
    }
  };
}

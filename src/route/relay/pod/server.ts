import { createServer } from 'node:http';
import type { Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { Channels } from '../wire/channels.ts';
import { PROTOCOL, type RelayConfig } from '../wire/config.ts';
import { identity } from '../wire/keys.ts';
import { PACE, type ResumableStream } from '../wire/resumable.ts';
import { Control } from './control.ts';
import { listen, listening, WebhookPort } from './webhook-port.ts';

type Log = (line: string) => void;

/** How long open reviews have to finish when the Pod stops. The Pod itself has 15 s. */
const LAST_REVIEWS_MS = 4_000;
const POLL_MS = 50;
/** The limit for connections to the proxy's port that have not requested our protocol yet. */
const MOST_ASKING = 256;
/** The time limit for the head of an HTTP request. */
const HEADERS_LIMIT_MS = 10_000;

/** Serves until the signal aborts, or until no client has been connected for `heartbeatSeconds`. Resolves with the reason. */
export async function serveRelay(config: RelayConfig, signal: AbortSignal, log: Log): Promise<string> {
  const ports = new Map(config.ports.map((port) => [port, new WebhookPort(port)]));
  const presence = watchPresence(config.heartbeatSeconds, log);
  const control = new Control({
    pace: PACE,
    identity: identity(config.programKey, config.clientKey),
    begin: (stream) => serveClient(stream, ports, log),
    onPresence(present) {
      presence.set(present);
      for (const port of ports.values()) port.hold(!present);
    },
  });
  const proxied = await listenForProxy(config.proxyPort, control);
  const server = await listen(config.controlPort, '127.0.0.1', (socket) => control.accept(socket));
  log(`waiting for the client on port ${config.proxyPort}, and on 127.0.0.1:${config.controlPort}`);
  const why = await Promise.race([presence.lost, aborted(signal)]);
  presence.end();
  proxied.close();
  await end(server, [...ports.values()]);
  control.end();
  return why;
}

/** The API server's proxy uses HTTP until the connection is upgraded to our protocol. */
async function listenForProxy(port: number, control: Control): Promise<Server> {
  const server = createServer({ headersTimeout: HEADERS_LIMIT_MS }, (_request, response) => {
    response.writeHead(426, { upgrade: PROTOCOL, connection: 'close' }).end();
  });
  server.on('upgrade', ({ headers }, socket, head) => {
    socket.on('error', () => {});
    asking.delete(socket);
    if (headers.upgrade !== PROTOCOL) return void socket.destroy();
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${PROTOCOL}\r\n\r\n`);
    if (head.length > 0) socket.unshift(head);
    control.accept(socket, 'proxy');
  });
  const asking = new Set<Duplex>();
  server.on('connection', (socket) => {
    // The API server requests the protocol at once, so the oldest connection belongs to a stranger.
    if (asking.size >= MOST_ASKING) [...asking][0]!.destroy();
    asking.add(socket);
    socket.once('close', () => asking.delete(socket));
  });
  return await listening(server, port);
}

/** Listens on the ports until the stream ends, opens a channel for each connection, and reports which ports it listens on. */
function serveClient(stream: ResumableStream, ports: Map<number, WebhookPort>, log: Log): void {
  const channels = new Channels(stream);
  for (const [number, port] of ports) {
    const open = () => channels.open(number);
    stream.over.addEventListener('abort', () => port.release(open));
    port.serve(open).then(
      () => channels.send({ type: 'port', port: number, failure: undefined }),
      (error: Error) => {
        log(`cannot listen on port ${number}: ${error.message}`);
        channels.send({ type: 'port', port: number, failure: error.message });
      },
    );
  }
}

function watchPresence(seconds: number, log: Log) {
  let present = false;
  let ended = false;
  let timer: NodeJS.Timeout;
  let lose: (why: string) => void;
  const lost = new Promise<string>((resolve) => {
    lose = resolve;
  });
  const arm = (): NodeJS.Timeout => setTimeout(() => lose(`no client for ${seconds} s`), seconds * 1000);
  timer = arm();
  const set = (now: boolean): void => {
    if (now === present || ended) return;
    present = now;
    clearTimeout(timer);
    if (!now) timer = arm();
    log(now ? 'client connected' : `client disconnected; waiting ${seconds} s for it`);
  };
  const end = (): void => {
    ended = true;
    clearTimeout(timer);
  };
  return { set, end, lost };
}

async function aborted(signal: AbortSignal): Promise<string> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
  return String(signal.reason);
}

/** Accepts no more connections, ends idle ones at once, and busy ones after their answer. */
async function end(server: Server, ports: WebhookPort[]): Promise<void> {
  server.close();
  for (const port of ports) port.close();
  const deadline = performance.now() + LAST_REVIEWS_MS;
  while (performance.now() < deadline && ports.map((port) => port.endIdle()).some((busy) => busy > 0)) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

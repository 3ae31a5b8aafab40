import { createServer } from 'node:http';
import type { Server } from 'node:net';
import { PROTOCOL, type RelayConfig } from './config.ts';
import { Control } from './control.ts';
import { identity } from './keys.ts';
import { PACE } from './resumable.ts';
import { serveClient } from './serve-client.ts';
import { listen, listening, WebhookPort } from './webhook-port.ts';

/** How long running reviews may take to finish when the Pod is stopped (it has 15 s), and how often to look; in ms. */
const LAST_REVIEWS = 4000;
const LOOK_AGAIN = 50;
/** How long a stranger may take over the head of a request, in ms. */
const HEADERS_LIMIT = 10_000;

/** The relay program without its process: serves until the signal, or until no client was there for the heartbeat. Says why it ended. */
export async function serveRelay(
  config: RelayConfig,
  signal: AbortSignal,
  log: (line: string) => void,
): Promise<string> {
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
  log(`listens for its client on port ${config.proxyPort}, and on 127.0.0.1:${config.controlPort}`);
  const why = await Promise.race([presence.lost, aborted(signal)]);
  presence.end();
  proxied.close();
  await end(server, [...ports.values()]);
  control.end();
  return why;
}

/** The API server's proxy speaks HTTP, until we switch to our protocol. */
async function listenForProxy(port: number, control: Control): Promise<Server> {
  const server = createServer({ headersTimeout: HEADERS_LIMIT }, (_request, response) => {
    response.writeHead(426, { upgrade: PROTOCOL, connection: 'close' }).end();
  });
  server.on('upgrade', ({ headers }, socket, head) => {
    socket.on('error', () => {});
    if (headers.upgrade !== PROTOCOL) return void socket.destroy();
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${PROTOCOL}\r\n\r\n`);
    if (head.length > 0) socket.unshift(head);
    control.accept(socket);
  });
  return await listening(server, port);
}

function watchPresence(seconds: number, log: (line: string) => void) {
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
    log(now ? 'the client is here' : `the client has gone; waits ${seconds} s for it`);
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

/** Takes no more connections, ends the idle ones at once, and the busy ones after their answer. */
async function end(server: Server, ports: WebhookPort[]): Promise<void> {
  server.close();
  for (const port of ports) port.close();
  const deadline = Date.now() + LAST_REVIEWS;
  while (Date.now() < deadline && ports.map((port) => port.endIdle()).some((busy) => busy > 0)) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN));
  }
}

import { chmod } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { DevloopError, messageOf } from '../../errors.ts';
import { LONGEST_SOCKET_PATH, listenOn } from '../../machine/port.ts';
import type { Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { type Handlers, PROTOCOL_VERSION, type Reply, type RequestName, socketPath } from './requests.ts';

const LONGEST_REQUEST = 2 ** 20;
/** How long a connection is allowed to take to send its request. */
const REQUEST_MS = 5_000;

/**
 * Lets other processes of this user control the session, through a socket in its directory. The session also works without the socket, so a
 * failure is only reported.
 */
export async function openSocket(
  directory: string,
  handlers: Partial<Handlers>,
  emit: Emit,
  onAsked?: () => void,
): Promise<AsyncDisposable> {
  const path = socketPath(directory);
  const connections = new Set<Socket>();
  const server = createServer((connection) => {
    connections.add(connection);
    onAsked?.();
    connection.once('close', () => connections.delete(connection));
    connection.on('error', () => connection.destroy());
    void serve(connection, handlers);
  });
  try {
    if (Buffer.byteLength(path) > LONGEST_SOCKET_PATH)
      throw new Error(
        `its path has ${Buffer.byteLength(path)} bytes, and at most ${LONGEST_SOCKET_PATH} are allowed (${path})`,
      );
    await listenOn(server, { path });
    // An extra precaution: the directory already keeps other users out.
    await chmod(path, 0o600);
  } catch (error) {
    emit(notice('session.no-socket', { cause: messageOf(error) }));
  }
  return {
    async [Symbol.asyncDispose]() {
      // What is known by now is still answered.
      await setImmediate();
      for (const connection of connections) connection.destroy();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Serves one request. Never rejects. */
async function serve(connection: Socket, handlers: Partial<Handlers>): Promise<void> {
  const gone = new AbortController();
  connection.once('close', () => gone.abort());
  const send = (reply: Omit<Reply, 'v'>): void => {
    if (connection.writable) connection.write(`${JSON.stringify({ v: PROTOCOL_VERSION, ...reply })}\n`);
  };
  try {
    const asked = parsed(await firstLine(connection));
    const handler = Object.hasOwn(handlers, asked.do) && handlers[asked.do as RequestName];
    if (!handler) throw unknown(`\`${asked.do}\` is unknown`);
    const caller = { emit: (event: Parameters<Emit>[0]) => send({ event }), signal: gone.signal };
    send({ answer: (await handler(asked as never, caller)) ?? null });
  } catch (error) {
    const { code, hint } = error instanceof DevloopError ? error : { code: 'bug', hint: undefined };
    send({ error: { code, message: messageOf(error), hint } });
  }
  connection.end();
}

function firstLine(connection: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(unknown(`nothing arrived within ${REQUEST_MS / 1000} s`)),
      REQUEST_MS,
    );
    let text = '';
    connection.setEncoding('utf8');
    connection.on('data', (chunk: string) => {
      text += chunk;
      const end = text.indexOf('\n');
      if (end < 0 && text.length <= LONGEST_REQUEST) return;
      clearTimeout(timer);
      if (end < 0) reject(unknown('it is too long'));
      else resolve(text.slice(0, end));
    });
    connection.once('close', () => {
      clearTimeout(timer);
      reject(unknown('the connection was closed'));
    });
  });
}

function parsed(line: string): { do: string } {
  try {
    const asked: unknown = JSON.parse(line);
    if (typeof asked === 'object' && asked !== null && 'do' in asked && typeof asked.do === 'string')
      return { ...asked, do: asked.do };
  } catch {}
  throw unknown('it is not a JSON object with a `do`');
}

function unknown(what: string): DevloopError {
  return new DevloopError('usage.invalid', `The session could not handle the request: ${what}.`, {
    hint: 'Use the same version of devloop in both terminals.',
  });
}

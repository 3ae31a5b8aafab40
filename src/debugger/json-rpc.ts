import { connect, type Socket } from 'node:net';

/** A connection to delve's own protocol, JSON-RPC 1: one JSON object per line. */
export interface DelveClient extends Disposable {
  /** Rejects with delve's error, or when the connection ends. */
  call<T>(method: string, params: object): Promise<T>;
}

/** delve listens here, on a port of its own choice, and refuses other users on Linux. */
export const DELVE_HOST = '127.0.0.1';

interface Reply {
  id: number;
  result?: unknown;
  error?: string | null;
}

/** Resolves when delve has accepted the connection. */
export async function connectDelve(port: number): Promise<DelveClient> {
  const socket = connect({ host: DELVE_HOST, port });
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  const end = (error: Error): void => {
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  socket.on('error', end);
  socket.on('close', () => end(new Error('delve has ended')));
  onLines(socket, (line) => {
    const reply = parsed(line);
    const call = reply && waiting.get(reply.id);
    if (!call) return;
    waiting.delete(reply.id);
    if (reply.error) call.reject(new Error(reply.error));
    else call.resolve(reply.result);
  });
  let last = 0;
  return {
    call<T>(method: string, params: object) {
      last += 1;
      const call = Promise.withResolvers<unknown>();
      waiting.set(last, call);
      socket.write(`${JSON.stringify({ method: `RPCServer.${method}`, params: [params], id: last })}\n`);
      return call.promise as Promise<T>;
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

/** The answer in a line; undefined if the line is not an answer. */
function parsed(line: string): Reply | undefined {
  try {
    return (JSON.parse(line) as Reply | null) ?? undefined;
  } catch {
    return undefined;
  }
}

function onLines(socket: Socket, handle: (line: string) => void): void {
  let pending = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    const lines = (pending + text).split('\n');
    pending = lines.pop()!;
    lines.forEach(handle);
  });
}

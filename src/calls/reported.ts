import { createServer, type Socket } from 'node:net';
import { listenOn } from '../machine/port.ts';
import type { Begun, Ended } from './reconciles.ts';

/** What devloop's addition to the controller reports (docs/adr/0041-reconciles-of-calls.md). */
export interface ReportedHooks {
  begun(begun: Begun): void;
  ended(ended: Ended): void;
}

const LONGEST_LINE = 64 * 1024;
/** In the year 5138; what is later is no time. */
const LATEST = 1e14;
const RESULTS = new Set<Ended['result']>(['success', 'error', 'requeue', 'requeue_after', 'panic']);

/** Listens on a unix socket for reports of begins and ends, one JSON object a line. What is not one is ignored. */
export async function listenForReports(path: string, hooks: ReportedHooks): Promise<AsyncDisposable> {
  const connections = new Set<Socket>();
  const server = createServer((socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket)).on('error', () => socket.destroy());
    let rest = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop()!;
      if (rest.length > LONGEST_LINE) socket.destroy();
      for (const line of lines) report(line, hooks);
    });
  });
  await listenOn(server, { path });
  return {
    async [Symbol.asyncDispose]() {
      for (const one of connections) one.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function report(line: string, hooks: ReportedHooks): void {
  const { begin, end, at, controller, kind, namespace, name, result, error, requeueAfterMs } = fieldsOf(line);
  if (typeof at !== 'number' || !(at >= 0 && at < LATEST)) return;
  if (typeof begin === 'string' && typeof name === 'string')
    hooks.begun({
      ...{ reconcile: begin, at, controller: textOf(controller) ?? '', name },
      ...{ kind: textOf(kind), namespace: textOf(namespace) },
    });
  if (typeof end !== 'string' || !RESULTS.has(result as Ended['result'])) return;
  const after = typeof requeueAfterMs === 'number' ? requeueAfterMs : undefined;
  hooks.ended({
    ...{ reconcile: end, at, result: result as Ended['result'] },
    ...{ error: textOf(error), requeueAfterMs: after },
  });
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function fieldsOf(line: string): Record<string, unknown> {
  try {
    return (JSON.parse(line) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
}

import { connect } from 'node:net';
import { DevloopError, reportedError } from '../../errors.ts';
import { textLines } from '../../machine/lines.ts';
import type { Emit } from '../../report/events.ts';
import { PROTOCOL_VERSION, type Reply, type RequestName, type Requests, socketPath } from './requests.ts';

export interface AskOptions {
  /** Receives the events that come before the answer. */
  emit: Emit;
  signal: AbortSignal;
  /** How long to wait for the answer; if absent, there is no limit. */
  limitMs?: number;
}

/** Sends a request to a session on this machine. Rejects with the session's error, or with 'session.not-ready' if it cannot be reached. */
export async function askSession<Name extends RequestName>(
  { id, directory }: { id: string; directory: string },
  name: Name,
  asked: Requests[Name]['asked'],
  { emit, signal, limitMs }: AskOptions,
): Promise<Requests[Name]['answer']> {
  signal.throwIfAborted();
  const limits = limitMs === undefined ? [signal] : [signal, AbortSignal.timeout(limitMs)];
  const ended = AbortSignal.any(limits);
  const socket = connect({ path: socketPath(directory) });
  const stop = (): void => void socket.destroy(new Error('it does not answer'));
  ended.addEventListener('abort', stop, { once: true });
  try {
    socket.write(`${JSON.stringify({ ...asked, v: PROTOCOL_VERSION, do: name })}\n`);
    return (await lastReply(textLines(socket.setEncoding('utf8')), emit)) as Requests[Name]['answer'];
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof DevloopError) throw error;
    throw notReached(id, error);
  } finally {
    ended.removeEventListener('abort', stop);
    socket.destroy();
  }
}

async function lastReply(lines: AsyncIterable<string>, emit: Emit): Promise<unknown> {
  for await (const line of lines) {
    const reply = JSON.parse(line) as Reply;
    if ('event' in reply) emit(reply.event);
    else if ('error' in reply) throw reportedError(reply.error);
    else return reply.answer;
  }
  throw new Error('it ended before it had answered');
}

function notReached(id: string, cause: unknown): DevloopError {
  const { code, message } = cause as NodeJS.ErrnoException;
  const why = code === 'ENOENT' ? 'it has no control socket, or is ending' : message;
  const hint = 'Look at the output of `devloop up` in its terminal.';
  return new DevloopError('session.not-ready', `Session ${id} cannot be controlled from here: ${why}.`, {
    hint,
    cause,
  });
}

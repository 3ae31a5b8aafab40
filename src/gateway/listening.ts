import { randomUUID } from 'node:crypto';
import { addAbortListener } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { backOff, sleep } from '../async.ts';
import { UNVERIFIED } from '../machine/loopback-tls.ts';

const REFUSED_MS = 300;
/**
 * The first pause before another connection. If the process has ended, that connection is refused, since no other process takes its place
 * sooner than this.
 */
const REOPEN_MS = 50;
/** The longest pause. Some servers close each connection, and others log a request that they do not expect. */
const LONGEST_MS = 60_000;
const ANSWER_MS = 10_000;

/**
 * Calls `onListening` as soon as a process answers HTTP over TLS on this port of the loopback interface, and again for each later process:
 * an idle connection shows whether the process is still the same. Resolves when the signal aborts.
 */
export async function whenListening(
  port: number,
  onListening: () => void,
  signal: AbortSignal,
): Promise<void> {
  for (let isKnown = false, closed = 0; !signal.aborted; closed += 1) {
    const opened = await openIdle(port, signal);
    if (opened === 'refused') {
      [isKnown, closed] = [false, 0];
      // A refused attempt appears in no log, so the pause stays short.
      await sleep(REFUSED_MS, signal);
      continue;
    }
    if (opened !== undefined) {
      if (!isKnown) onListening();
      isKnown = true;
      const since = performance.now();
      // A reset emits an error first, which `once` of node:events would throw.
      if (!opened.closed) await new Promise<void>((resolve) => opened.once('close', () => resolve()));
      if (performance.now() - since > LONGEST_MS) closed = 0;
    }
    await sleep(backOff(closed, REOPEN_MS, LONGEST_MS), signal);
  }
}

/** A connection on which one request was answered, because a server that shuts down would wait for a connection without a request. */
async function openIdle(port: number, signal: AbortSignal): Promise<TLSSocket | 'refused' | undefined> {
  const socket = connect({ host: '127.0.0.1', port, ...UNVERIFIED });
  const aborting = addAbortListener(signal, () => void socket.destroy());
  socket.once('close', () => aborting[Symbol.dispose]());
  socket.setTimeout(ANSWER_MS, () => socket.destroy());
  return await new Promise((resolve) => {
    socket.on('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(code === 'ECONNREFUSED' ? 'refused' : undefined),
    );
    // The connection can close even in the middle of the handshake, without an error.
    socket.once('close', () => resolve(undefined));
    socket.once('secureConnect', () => socket.write(nobodysRequest()));
    socket.on('data', () => {
      socket.setTimeout(0);
      resolve(socket);
    });
  });
}

/** A request for a path that no handler has. */
function nobodysRequest(): string {
  return `HEAD /devloop-${randomUUID()} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
}

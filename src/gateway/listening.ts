import { randomUUID } from 'node:crypto';
import { addAbortListener } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { backOff, sleep } from '../async.ts';
import { UNVERIFIED } from '../machine/loopback-tls.ts';

const REFUSED_MS = 300;
/** A process that has ended refuses the next connection: sooner than that, none takes its place. */
const REOPEN_MS = 50;
/** Some servers close each connection, and others log what is no request of theirs. */
const LONGEST_MS = 60_000;
const ANSWER_MS = 10_000;

/**
 * Calls `onListening` as soon as a process answers HTTP over TLS on this port of the loopback interface, and for each process that follows
 * it there: an idle connection shows whether it still is the same one. Resolves with the signal.
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
      // Nobody sees these attempts.
      await sleep(REFUSED_MS, signal);
      continue;
    }
    if (opened !== undefined) {
      if (!isKnown) onListening();
      isKnown = true;
      const since = performance.now();
      // A reset is an error first, which `once` of node:events would throw.
      if (!opened.closed) await new Promise<void>((resolve) => opened.once('close', () => resolve()));
      if (performance.now() - since > LONGEST_MS) closed = 0;
    }
    await sleep(backOff(closed, REOPEN_MS, LONGEST_MS), signal);
  }
}

/** A connection on which one request was answered: of a server that shuts down, any other would keep it waiting. */
async function openIdle(port: number, signal: AbortSignal): Promise<TLSSocket | 'refused' | undefined> {
  const socket = connect({ host: '127.0.0.1', port, ...UNVERIFIED });
  const aborting = addAbortListener(signal, () => void socket.destroy());
  socket.once('close', () => aborting[Symbol.dispose]());
  socket.setTimeout(ANSWER_MS, () => socket.destroy());
  return await new Promise((resolve) => {
    socket.on('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(code === 'ECONNREFUSED' ? 'refused' : undefined),
    );
    // Also in the middle of the handshake, without an error.
    socket.once('close', () => resolve(undefined));
    socket.once('secureConnect', () => socket.write(nobodysRequest()));
    socket.on('data', () => {
      socket.setTimeout(0);
      resolve(socket);
    });
  });
}

/** No handler has this path. */
function nobodysRequest(): string {
  return `HEAD /devloop-${randomUUID()} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
}

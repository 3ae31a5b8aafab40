import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../errors.ts';
import { redialDelay } from './back-off.ts';
import { AnotherProgram, Greeting } from './greeting.ts';
import type { Identity } from './keys.ts';
import { Link } from './link.ts';
import type { ResumableStream } from './resumable.ts';

/** One dial with its handshake may take so long, in ms. */
const DIAL_LIMIT = 10_000;
/** A connection that lived shorter, in ms, is not redialled at once; but sooner than where none comes about. */
const SHORT_LIFE = 1000;
const SHORT_LIFE_FAILURES = 2;

export type Dial = (signal: AbortSignal) => Promise<Duplex>;

export interface Way {
  dial: Dial;
  /** Ours, and what we know of the program. */
  identity: Identity;
}

export interface DialWatch {
  /** The stream goes on over a new connection. */
  onAttached(): void;
  /** The connection broke; it is being dialled again. */
  onCut(cause: string): void;
  /** A dial did not lead to a connection. */
  onFailed(error: unknown): void;
}

/**
 * Keeps a stream connected until it ends: dials, and dials again after each cut, for as long as the signal allows.
 * Resolves when the stream has ended; a stream that the other end does not know is ended.
 */
export async function keepConnected(
  stream: ResumableStream,
  way: Way,
  watch: DialWatch,
  signal: AbortSignal,
): Promise<void> {
  const until = AbortSignal.any([signal, stream.over]);
  let failures = 0;
  let fresh = true;
  while (!until.aborted) {
    await sleep(redialDelay(failures, Math.random()), undefined, { signal: until }).catch(() => {});
    if (until.aborted) break;
    failures += 1;
    try {
      const { cut } = await connect(stream, way, fresh, until);
      fresh = false;
      const since = performance.now();
      watch.onAttached();
      const cause = await cut;
      failures = performance.now() - since > SHORT_LIFE ? 0 : Math.min(failures, SHORT_LIFE_FAILURES);
      if (!until.aborted) watch.onCut(cause);
    } catch (error) {
      if (error instanceof AnotherProgram) stream.leave('ended');
      else if (!until.aborted) watch.onFailed(error);
    }
  }
}

/** One dial and handshake. Resolves once the stream is attached; `cut` then says why it no longer is. */
export async function connect(stream: ResumableStream, way: Way, fresh: boolean, signal: AbortSignal) {
  const limit = new AbortController();
  const timer = setTimeout(
    () => limit.abort(new Error(`no answer within ${DIAL_LIMIT / 1000} s`)),
    DIAL_LIMIT,
  );
  try {
    const either = AbortSignal.any([signal, limit.signal]);
    const link = new Link(await way.dial(either));
    return await shakeHands(link, new Greeting(stream, way.identity, fresh), either);
  } catch (error) {
    throw limit.signal.aborted ? limit.signal.reason : error;
  } finally {
    clearTimeout(timer);
  }
}

async function shakeHands(link: Link, greeting: Greeting, signal: AbortSignal) {
  const abort = (): void => link.close('given up');
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await new Promise<{ cut: Promise<string> }>((resolve, reject) => {
      void link.closed.then((cause) => reject(new Error(cause)));
      link.onFrame = (frame) => {
        try {
          const cut = greeting.hear(frame, link);
          if (cut !== undefined) resolve({ cut });
        } catch (error) {
          reject(error);
          link.close(messageOf(error));
        }
      };
    });
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

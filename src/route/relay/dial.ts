import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { backOff, sleep } from '../../async.ts';
import { messageOf } from '../../errors.ts';
import { type Frame, NONCE_BYTES } from './wire/frames.ts';
import { type Identity, isSigned, signatureFor } from './wire/keys.ts';
import { Link } from './wire/link.ts';
import type { ResumableStream } from './wire/resumable.ts';

/** The limit for one dial with its handshake. */
const DIAL_LIMIT_MS = 10_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** After a connection that lasted less than this, the next dial waits at most as long as after SHORT_LIFE_FAILURES failed dials. */
const SHORT_LIFE_MS = 1_000;
const SHORT_LIFE_FAILURES = 2;

/** Opens a new connection to the relay program. */
export type Dial = (signal: AbortSignal) => Promise<Duplex>;

/** How to connect to the program, and the keys by which both ends recognize each other. */
export interface Access {
  dial: Dial;
  /** Called each time both ends have proved their identity over a new connection. */
  onProved?: () => void;
  identity: Identity;
}

export interface DialEvents {
  /** Called when the stream continues over a new connection. */
  onAttached(): void;
  /** Called when the connection breaks; it is then dialled again. */
  onCut(cause: string): void;
  /** Called when a dial failed. */
  onFailed(error: unknown): void;
}

/** Thrown if the program does not know the stream, which means that the stream began with another program. */
export class AnotherProgram extends Error {}

/**
 * Keeps a stream connected until it ends or the signal aborts: dials, and dials again after each cut. A stream that the program
 * does not know is ended.
 */
export async function keepConnected(
  stream: ResumableStream,
  access: Access,
  events: DialEvents,
  signal: AbortSignal,
): Promise<void> {
  const until = AbortSignal.any([signal, stream.over]);
  let failures = 0;
  let fresh = true;
  while (!until.aborted) {
    if (!(await sleep(redialPauseMs(failures), until))) break;
    failures += 1;
    try {
      const { cut } = await connect(stream, access, fresh, until);
      fresh = false;
      const since = performance.now();
      events.onAttached();
      const cause = await cut;
      failures = performance.now() - since > SHORT_LIFE_MS ? 0 : Math.min(failures, SHORT_LIFE_FAILURES);
      if (!until.aborted) events.onCut(cause);
    } catch (error) {
      if (error instanceof AnotherProgram) stream.end('ended');
      else if (!until.aborted) events.onFailed(error);
    }
  }
}

/** The pause after this many failures in a row: none after zero, then longer and longer, with jitter. */
export function redialPauseMs(failures: number): number {
  if (failures === 0) return 0;
  return backOff(failures - 1, FIRST_PAUSE_MS, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2);
}

/** One dial with its handshake. Resolves when the stream is attached; `cut` resolves with the cause when it no longer is. */
export async function connect(stream: ResumableStream, access: Access, fresh: boolean, signal: AbortSignal) {
  const limit = new AbortController();
  const timer = setTimeout(
    () => limit.abort(new Error(`no answer within ${DIAL_LIMIT_MS / 1000} s`)),
    DIAL_LIMIT_MS,
  );
  try {
    const either = AbortSignal.any([signal, limit.signal]);
    const link = new Link(await access.dial(either));
    const attached = await shakeHands(link, new Handshake(stream, access.identity, fresh), either);
    access.onProved?.();
    return attached;
  } catch (error) {
    throw limit.signal.aborted ? limit.signal.reason : error;
  } finally {
    clearTimeout(timer);
  }
}

async function shakeHands(link: Link, handshake: Handshake, signal: AbortSignal) {
  const abort = (): void => link.close('the handshake was interrupted');
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await new Promise<{ cut: Promise<string> }>((resolve, reject) => {
      void link.closed.then((cause) => reject(new Error(cause)));
      link.onFrame = (frame) => {
        try {
          const cut = handshake.receive(frame, link);
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

/** This machine's part of the handshake: both ends prove their identity, and state how many bytes they have received. */
class Handshake {
  #stream: ResumableStream;
  #identity: Identity;
  #fresh: boolean;
  #nonce = randomBytes(NONCE_BYTES);
  #challenged = false;

  constructor(stream: ResumableStream, identity: Identity, fresh: boolean) {
    this.#stream = stream;
    this.#identity = identity;
    this.#fresh = fresh;
  }

  /** Once the stream is attached to the link, returns a promise of the reason why the link closes. Throws if the handshake fails. */
  receive(frame: Frame, link: Link): Promise<string> | undefined {
    if (frame.type === 'challenge' && !this.#challenged) {
      this.#challenged = true;
      link.send(this.#hello(frame.nonce));
      return undefined;
    }
    if (frame.type !== 'welcome' || !this.#challenged) throw new Error(`unexpected answer: ${frame.type}`);
    if (!isSigned(frame, this.#nonce, this.#identity)) {
      throw new Error('the program in the Pod does not have the key of this session');
    }
    if (!frame.resumed && !this.#fresh) throw new AnotherProgram('another program answered');
    if (!this.#stream.canResume(frame.received)) {
      throw new Error('the stream cannot continue where the program left it');
    }
    return this.#stream.attach(link, frame.received);
  }

  #hello(nonce: Buffer): Frame {
    const { token, received } = this.#stream;
    const unsigned = { type: 'hello', token, fresh: this.#fresh, received, nonce: this.#nonce } as const;
    return { ...unsigned, signature: signatureFor(unsigned, nonce, this.#identity) };
  }
}

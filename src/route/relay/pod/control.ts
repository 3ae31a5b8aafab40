import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { type Frame, type Hello, NONCE_BYTES } from '../wire/frames.ts';
import { BadFrame } from '../wire/framing.ts';
import { type Identity, isSigned, signatureFor } from '../wire/keys.ts';
import { Link } from '../wire/link.ts';
import { type Pace, ResumableStream } from '../wire/resumable.ts';

/** A connection that has not authenticated after this time is dropped; so is the oldest unauthenticated one if there are too many. */
const AUTHENTICATION_LIMIT_MS = 10_000;
/** One limit for each entrance, so that strangers at one do not keep the client out of the other. */
const MOST_UNAUTHENTICATED = { proxy: 512, loopback: 64 };

/** Where a connection came in: the port for the API server's proxy, which others can also reach, or the port for a port-forward. */
export type Entrance = keyof typeof MOST_UNAUTHENTICATED;

export interface ControlOptions {
  pace: Pace;
  identity: Identity;
  /** Starts to serve the stream of an authenticated client. The previous stream, if any, ends after this call. */
  begin(stream: ResumableStream): void;
  /** Called with whether the client is connected now. */
  onPresence(present: boolean): void;
}

/**
 * Accepts the connections of the client. Anybody who can reach the Pod or forward its ports can connect, so each connection has to
 * authenticate before anything else from it is read.
 */
export class Control {
  #options: ControlOptions;
  #current: ResumableStream | undefined;
  #unauthenticated = { proxy: new Set<Link>(), loopback: new Set<Link>() };

  constructor(options: ControlOptions) {
    this.#options = options;
  }

  accept(connection: Duplex, entrance: Entrance = 'loopback'): void {
    const link = new Link(connection);
    const unauthenticated = this.#unauthenticated[entrance];
    if (unauthenticated.size >= MOST_UNAUTHENTICATED[entrance]) dropOldest(unauthenticated);
    unauthenticated.add(link);
    const deadline = setTimeout(() => link.close('no hello'), AUTHENTICATION_LIMIT_MS);
    const answered = (): void => {
      clearTimeout(deadline);
      unauthenticated.delete(link);
    };
    void link.closed.then(answered);
    const nonce = randomBytes(NONCE_BYTES);
    link.onFrame = (frame) => {
      answered();
      this.#welcome(link, this.#authenticated(frame, nonce));
    };
    link.send({ type: 'challenge', nonce });
  }

  /** Ends the stream. */
  end(): void {
    this.#current?.end('ended');
  }

  #authenticated(frame: Frame, nonce: Buffer): Hello {
    if (frame.type !== 'hello') throw new BadFrame(`${frame.type} instead of hello`);
    if (!isSigned(frame, nonce, this.#options.identity)) throw new BadFrame('not signed by the client');
    return frame;
  }

  #welcome(link: Link, hello: Hello): void {
    const known = this.#current?.token.equals(hello.token) ? this.#current : undefined;
    if (known === undefined && !hello.fresh) {
      this.#answer(link, hello, { resumed: false, received: 0 });
      link.bye('ended');
      return;
    }
    const stream = known ?? this.#begin(hello.token);
    // This also rejects a late hello from a connection that the client has abandoned: the stream may have continued since.
    if (!stream.canResume(hello.received)) throw new BadFrame('the stream cannot continue from there');
    this.#answer(link, hello, { resumed: known !== undefined, received: stream.received });
    void stream.attach(link, hello.received).then(() => this.#presence());
    this.#presence();
  }

  #answer(link: Link, { nonce }: Hello, where: { resumed: boolean; received: number }): void {
    const unsigned = { type: 'welcome', ...where } as const;
    link.send({ ...unsigned, signature: signatureFor(unsigned, nonce, this.#options.identity) });
  }

  /** Replaces the current stream. */
  #begin(token: Buffer): ResumableStream {
    const before = this.#current;
    const stream = new ResumableStream(Buffer.from(token), this.#options.pace);
    this.#current = stream;
    stream.over.addEventListener('abort', () => {
      if (this.#current !== stream) return;
      this.#current = undefined;
      this.#presence();
    });
    this.#options.begin(stream);
    before?.end('replaced');
    return stream;
  }

  #presence(): void {
    this.#options.onPresence(this.#current?.attached ?? false);
  }
}

/** The client authenticates at once, so the oldest connection belongs to a stranger. */
function dropOldest(links: Set<Link>): void {
  const [oldest] = links;
  links.delete(oldest!);
  oldest!.close('too many connections that do not authenticate');
}

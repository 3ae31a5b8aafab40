import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { type Frame, type Hello, NONCE_BYTES } from './frames.ts';
import { BadFrame } from './framing.ts';
import { type Identity, isSigned, signatureFor } from './keys.ts';
import { Link } from './link.ts';
import { type Pace, ResumableStream } from './resumable.ts';

/** A connection that has not proved itself after so long, in ms, or while so many others try to, is dropped. */
const MOST_UNPROVEN_TIME = 10_000;
const MOST_UNPROVEN = 64;

export interface ControlOptions {
  pace: Pace;
  identity: Identity;
  /** Begins what runs over the stream of a client that is the right one. The one before it ends after this. */
  begin(stream: ResumableStream): void;
  /** Whether the client is connected at this moment. */
  onPresence(present: boolean): void;
}

/**
 * The end of the control port in the Pod. Who can forward ports in the namespace can connect here, so each connection has
 * to prove that it is the client's before anything else of it is heard.
 */
export class Control {
  #options: ControlOptions;
  #current: ResumableStream | undefined;
  #unproven = new Set<Link>();

  constructor(options: ControlOptions) {
    this.#options = options;
  }

  accept(connection: Duplex): void {
    const link = new Link(connection);
    // The client answers at once; the oldest is one that does not.
    this.#dropOldest();
    this.#unproven.add(link);
    const deadline = setTimeout(() => link.close('no hello'), MOST_UNPROVEN_TIME);
    const greeted = (): void => {
      clearTimeout(deadline);
      this.#unproven.delete(link);
    };
    void link.closed.then(greeted);
    const nonce = randomBytes(NONCE_BYTES);
    link.onFrame = (frame) => {
      greeted();
      this.#greeted(link, this.#proven(frame, nonce));
    };
    link.send({ type: 'challenge', nonce });
  }

  /** Ends the stream. */
  end(): void {
    this.#current?.leave('ended');
  }

  #dropOldest(): void {
    if (this.#unproven.size < MOST_UNPROVEN) return;
    const [oldest] = this.#unproven;
    this.#unproven.delete(oldest!);
    oldest!.close('too many connections that say nothing');
  }

  #proven(frame: Frame, nonce: Buffer): Hello {
    if (frame.type !== 'hello') throw new BadFrame(`${frame.type} instead of hello`);
    if (!isSigned(frame, nonce, this.#options.identity)) throw new BadFrame('not signed by the client');
    return frame;
  }

  #greeted(link: Link, hello: Hello): void {
    const known = this.#current?.token.equals(hello.token) ? this.#current : undefined;
    if (known === undefined && !hello.fresh) {
      this.#welcome(link, hello, { resumed: false, received: 0 });
      link.bye('ended');
      return;
    }
    const stream = known ?? this.#begin(hello.token);
    // Also a hello that comes late, from a connection that the client has given up: the stream may be further by now.
    if (!stream.canResume(hello.received)) throw new BadFrame('nothing to go on with');
    this.#welcome(link, hello, { resumed: known !== undefined, received: stream.received });
    void stream.attach(link, hello.received).then(() => this.#presence());
    this.#presence();
  }

  #welcome(link: Link, { nonce }: Hello, where: { resumed: boolean; received: number }): void {
    const said = { type: 'welcome', ...where } as const;
    link.send({ ...said, signature: signatureFor(said, nonce, this.#options.identity) });
  }

  /** Takes the place of the one before. */
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
    before?.leave('replaced');
    return stream;
  }

  #presence(): void {
    this.#options.onPresence(this.#current?.attached ?? false);
  }
}

import { timingSafeEqual } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { BadFrame, type Frame } from './frames.ts';
import { Link } from './link.ts';
import { type Pace, ResumableStream } from './resumable.ts';

/** A connection that has not said a proper hello after so long, or a stream without a proven client, is dropped; in ms. */
const MOST_UNPROVEN_TIME = 10_000;
const MOST_UNPROVEN = 8;

export interface ControlOptions {
  pace: Pace;
  /** Begins what runs over a new stream; it calls `proven` once it knows that the client is the right one. */
  begin(stream: ResumableStream, proven: () => void): void;
  /** A proven client takes the place of the one before. */
  onReplaced(): void;
  /** Whether a proven client is connected at this moment. */
  onPresence(present: boolean): void;
}

/**
 * The end of the control port in the Pod. Who can forward ports in the namespace can connect here, so a stranger may
 * neither go on with a stream (only its two ends know the token) nor end one: that needs the client's key.
 */
export class Control {
  #options: ControlOptions;
  #current: ResumableStream | undefined;
  #unproven = new Set<ResumableStream>();
  #silent = new Set<Link>();

  constructor(options: ControlOptions) {
    this.#options = options;
  }

  accept(connection: Duplex): void {
    const link = new Link(connection);
    // The client says hello at once, so it is never the oldest that has said nothing.
    dropOldest(this.#silent, (oldest) => oldest.close('too many connections that say nothing'));
    this.#silent.add(link);
    const deadline = setTimeout(() => link.close('no hello'), MOST_UNPROVEN_TIME);
    const greeted = (): void => {
      clearTimeout(deadline);
      this.#silent.delete(link);
    };
    void link.closed.then(greeted);
    link.onFrame = (frame) => {
      greeted();
      this.#hello(link, frame);
    };
  }

  /** Ends every stream. */
  end(): void {
    this.#current?.leave('ended');
    for (const stream of this.#unproven) stream.leave('ended');
  }

  #hello(link: Link, frame: Frame): void {
    if (frame.type !== 'hello') throw new BadFrame(`${frame.type} instead of hello`);
    const known = this.#find(frame.token);
    if (known === undefined && !frame.fresh) {
      link.send({ type: 'welcome', resumed: false, received: 0 });
      link.bye('ended');
      return;
    }
    const stream = known ?? this.#begin(frame.token);
    // Also a hello that comes late, from a connection that the client has given up: the stream may be further by now.
    if (!stream.canResume(frame.received)) throw new BadFrame('nothing to go on with');
    link.send({ type: 'welcome', resumed: known !== undefined, received: stream.received });
    void stream.attach(link, frame.received).then(() => this.#presence());
    this.#presence();
  }

  #find(token: Buffer): ResumableStream | undefined {
    const all = this.#current === undefined ? [...this.#unproven] : [this.#current, ...this.#unproven];
    return all.find((stream) => timingSafeEqual(stream.token, token));
  }

  #begin(token: Buffer): ResumableStream {
    dropOldest(this.#unproven, (oldest) => oldest.leave('ended'));
    const stream = new ResumableStream(Buffer.from(token), this.#options.pace);
    this.#unproven.add(stream);
    const deadline = setTimeout(() => stream.leave('ended'), MOST_UNPROVEN_TIME);
    stream.once('close', () => {
      clearTimeout(deadline);
      this.#unproven.delete(stream);
      if (this.#current === stream) this.#current = undefined;
      this.#presence();
    });
    this.#options.begin(stream, () => {
      clearTimeout(deadline);
      this.#unproven.delete(stream);
      this.#replace(stream);
    });
    return stream;
  }

  #replace(stream: ResumableStream): void {
    const before = this.#current;
    this.#current = stream;
    if (before !== undefined) this.#options.onReplaced();
    before?.leave('replaced');
    this.#presence();
  }

  #presence(): void {
    this.#options.onPresence(this.#current?.attached ?? false);
  }
}

function dropOldest<T>(all: Set<T>, drop: (oldest: T) => void): void {
  if (all.size < MOST_UNPROVEN) return;
  const [oldest] = all;
  all.delete(oldest!);
  drop(oldest!);
}

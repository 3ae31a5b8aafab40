import type { Duplex } from 'node:stream';
import { type ByeReason, decode, encode, type Frame, limits } from './frames.ts';
import { FrameReader } from './framing.ts';

/** How long a connection may take to take its last words, in ms. */
const FAREWELL = 1000;

/** One connection that carries frames. It may break at any time: `closed` then says why, and never rejects. */
export class Link {
  /** Called for each frame in turn, in the same tick; who takes over must do so inside the call. */
  onFrame: (frame: Frame) => void = () => {};
  readonly closed: Promise<string>;
  #connection: Duplex;
  #close: (cause: string) => void = () => {};
  #heard = performance.now();
  #broken: string | undefined;

  constructor(connection: Duplex) {
    this.#connection = connection;
    const reader = new FrameReader(limits);
    this.closed = new Promise((resolve) => {
      this.#close = resolve;
    });
    connection.on('data', (chunk: Buffer) => {
      this.#heard = performance.now();
      this.#guard(() => reader.read(chunk, (kind, body) => this.#broken ?? this.onFrame(decode(kind, body))));
    });
    connection.on('error', (error) => this.close(error.message));
    connection.once('end', () => this.close('the connection was closed by the other end'));
    connection.once('close', () => this.close('the connection was closed'));
  }

  /** Milliseconds since something came. */
  get silentFor(): number {
    return performance.now() - this.#heard;
  }

  send(frame: Frame): void {
    if (this.#broken === undefined) this.#connection.write(encode(frame));
  }

  /** Breaks the connection; what was not yet sent is lost. */
  close(cause: string): void {
    if (this.#broken !== undefined) return;
    this.#broken = cause;
    this.#connection.destroy();
    this.#close(cause);
  }

  /** Ends the stream for good, and the connection behind it. */
  bye(reason: ByeReason): void {
    if (this.#broken !== undefined) return;
    this.#broken = 'ended by this end';
    const connection = this.#connection;
    const timer = setTimeout(() => connection.destroy(), FAREWELL);
    connection.once('close', () => {
      clearTimeout(timer);
      this.#close(`the stream was ${reason}`);
    });
    // The other end closes when it has read this. To close first could reset the connection under its last words.
    connection.resume().end(encode({ type: 'bye', reason }));
  }

  /** A frame that cannot be is the other end's fault: the connection is dropped, nobody else is harmed. */
  #guard(read: () => void): void {
    try {
      read();
    } catch (error) {
      this.close(`not understood: ${error instanceof Error ? error.message : error}`);
    }
  }
}

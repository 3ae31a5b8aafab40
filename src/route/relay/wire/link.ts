import type { Duplex } from 'node:stream';
import { type ByeReason, decode, encode, type Frame, limits } from './frames.ts';
import { FrameReader } from './framing.ts';

/** The time limit for sending the last frame. */
const FAREWELL_MS = 1_000;

/** One connection that carries frames. It may break at any time; `closed` then resolves with the cause, and never rejects. */
export class Link {
  /** Called for each frame in turn, in the same tick. Replace it only during a call, so that no frame is missed. */
  onFrame: (frame: Frame) => void = () => {};
  readonly closed: Promise<string>;
  #connection: Duplex;
  #close: (cause: string) => void = () => {};
  #lastReceived = performance.now();
  #broken: string | undefined;

  constructor(connection: Duplex) {
    this.#connection = connection;
    const reader = new FrameReader(limits);
    this.closed = new Promise((resolve) => {
      this.#close = resolve;
    });
    connection.on('data', (chunk: Buffer) => {
      this.#lastReceived = performance.now();
      this.#guard(() => reader.read(chunk, (kind, body) => this.#broken ?? this.onFrame(decode(kind, body))));
    });
    connection.on('error', (error) => this.close(error.message));
    connection.once('end', () => this.close('the other end closed the connection'));
    connection.once('close', () => this.close('the connection was closed'));
  }

  /** Milliseconds since something was received. */
  get silentForMs(): number {
    return performance.now() - this.#lastReceived;
  }

  send(frame: Frame): void {
    if (this.#broken === undefined) this.#connection.write(encode(frame));
  }

  /** Breaks the connection; what has not been sent yet is lost. */
  close(cause: string): void {
    if (this.#broken !== undefined) return;
    this.#broken = cause;
    this.#connection.destroy();
    this.#close(cause);
  }

  /** Sends a last frame that ends the stream, and then closes the connection. */
  bye(reason: ByeReason): void {
    if (this.#broken !== undefined) return;
    this.#broken = 'this end closed the connection';
    const connection = this.#connection;
    const timer = setTimeout(() => connection.destroy(), FAREWELL_MS);
    connection.once('close', () => {
      clearTimeout(timer);
      this.#close(`the stream was ${reason}`);
    });
    // The other end closes when it has read this. If this end closed first, a reset could discard the other end's last frames.
    connection.resume().end(encode({ type: 'bye', reason }));
  }

  /** A malformed frame is the other end's fault, and affects this connection only. */
  #guard(read: () => void): void {
    try {
      read();
    } catch (error) {
      this.close(`protocol error: ${error instanceof Error ? error.message : error}`);
    }
  }
}

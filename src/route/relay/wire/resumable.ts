import { type ByeReason, type Frame, MAX_DATA } from './frames.ts';
import { BadFrame } from './framing.ts';
import type { Link } from './link.ts';
import { Outbox, unseen } from './outbox.ts';

/** How often an end sends a sign of life, and after how much silence it drops the connection. */
export interface Pace {
  beatMs: number;
  silenceMs: number;
}

export const PACE: Pace = { beatMs: 3_000, silenceMs: 10_000 };

/** With this many unacknowledged bytes the stream is full, and writers have to wait. */
const MOST_HELD = 4 * 1024 * 1024;
/** Bytes are acknowledged after this many have arrived, often enough that the other end does not reach MOST_HELD. */
const ACK_AFTER = 64 * 1024;

/**
 * A byte stream that outlives the connections that carry it. Each end keeps the bytes that the other has not acknowledged. On a
 * new link both ends state how many bytes they have received, and the rest is sent again, so every byte arrives once and in order.
 */
export class ResumableStream {
  readonly token: Buffer;
  /** Called with the bytes that arrive, in the same tick. Set it before the stream is attached for the first time. */
  onBytes: (bytes: Buffer) => void = () => {};
  /** Called when the stream was full and has room again. */
  onRoom: () => void = () => {};
  /** Why the other end ended the stream; undefined if it did not. */
  peerReason: ByeReason | undefined;
  #over = new AbortController();
  #pace: Pace;
  #link: Link | undefined;
  #outbox = new Outbox();
  /** Bytes written in this turn of the event loop. */
  #pieces: Buffer[] = [];
  #gathered = 0;
  #received = 0;
  #acknowledged = 0;
  #wasFull = false;
  #beat: NodeJS.Timeout | undefined;

  constructor(token: Buffer, pace: Pace = PACE) {
    this.token = token;
    this.#pace = pace;
  }

  /** Aborts when the stream has ended, whichever end ended it. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** The number of bytes received from the other end. */
  get received(): number {
    return this.#received;
  }

  get attached(): boolean {
    return this.#link !== undefined;
  }

  get full(): boolean {
    return this.#outbox.size + this.#gathered >= MOST_HELD;
  }

  canResume(peerReceived: number): boolean {
    return !this.over.aborted && this.#outbox.reaches(peerReceived);
  }

  /**
   * Continues over this link, from where the other end stopped receiving. Call it while the last frame of the handshake is
   * handled, so that no later frame is missed. Resolves with the cause when the link has closed.
   */
  async attach(link: Link, peerReceived: number): Promise<string> {
    this.#link?.close('replaced by a newer connection');
    this.#link = link;
    link.onFrame = (frame) => this.#receive(frame);
    this.#progress(peerReceived);
    const { offset, chunks } = this.#outbox.held();
    this.#send(offset, chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    clearInterval(this.#beat);
    this.#beat = setInterval(() => this.#checkLink(link), this.#pace.beatMs);
    const cause = await link.closed;
    if (this.#link === link) this.#detach();
    return cause;
  }

  /**
   * Everything written in one turn of the event loop is sent in one frame, so that many connections share it without a delay. A
   * full stream still accepts the bytes, but the caller should stop.
   */
  write(bytes: Buffer): void {
    if (this.#pieces.length === 0) setImmediate(() => this.#flush());
    this.#pieces.push(bytes);
    this.#gathered += bytes.length;
    this.#wasFull ||= this.full;
  }

  /** Sends everything that was written, ends the stream, and notifies the other end. */
  end(reason: ByeReason): void {
    if (this.over.aborted) return;
    this.#flush();
    this.#link?.bye(reason);
    this.#detach();
    this.#over.abort();
  }

  #detach(): void {
    this.#link = undefined;
    clearInterval(this.#beat);
  }

  #checkLink(link: Link): void {
    if (link.silentForMs > this.#pace.silenceMs) {
      link.close(`the other end was silent for ${Math.round(link.silentForMs / 1000)} s`);
    } else this.#acknowledge();
  }

  #receive(frame: Frame): void {
    if (frame.type === 'data') this.#arrived(frame.offset, frame.bytes);
    else if (frame.type === 'ack') this.#progress(frame.received);
    else if (frame.type === 'bye') {
      this.peerReason = frame.reason;
      this.end('ended');
    } else throw new BadFrame(`unexpected frame: ${frame.type}`);
  }

  #arrived(offset: number, bytes: Buffer): void {
    const fresh = unseen(this.#received, offset, bytes);
    if (fresh === undefined) throw new BadFrame(`bytes before ${offset} are missing`);
    this.#received += fresh.length;
    if (this.#received - this.#acknowledged >= ACK_AFTER) this.#acknowledge();
    if (fresh.length > 0) this.onBytes(fresh);
  }

  #acknowledge(): void {
    this.#acknowledged = this.#received;
    this.#link?.send({ type: 'ack', received: this.#received });
  }

  #progress(peerReceived: number): void {
    if (peerReceived > this.#outbox.end) throw new BadFrame('bytes acknowledged that were never sent');
    this.#outbox.acknowledge(peerReceived);
    if (!this.#wasFull || this.full) return;
    this.#wasFull = false;
    this.onRoom();
  }

  #send(offset: number, bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at += MAX_DATA) {
      this.#link?.send({ type: 'data', offset: offset + at, bytes: bytes.subarray(at, at + MAX_DATA) });
    }
  }

  #flush(): void {
    if (this.#pieces.length === 0) return;
    const bytes = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces, this.#gathered);
    this.#pieces = [];
    this.#gathered = 0;
    const offset = this.#outbox.end;
    this.#outbox.add(bytes);
    this.#send(offset, bytes);
  }
}

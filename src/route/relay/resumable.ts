import { type ByeReason, type Frame, MAX_DATA } from './frames.ts';
import { BadFrame } from './framing.ts';
import type { Link } from './link.ts';
import { Outbox, unseen } from './outbox.ts';

/** How often an end gives a sign of life, and after which silence the other one counts as dead; in ms. */
export interface Pace {
  beat: number;
  silence: number;
}

export const PACE: Pace = { beat: 3000, silence: 10_000 };

/** With so many unacknowledged bytes it is full: who has more to write has to wait. */
const MOST_HELD = 4 * 1024 * 1024;
/** The other end learns that its bytes have come after so many; enough to keep MOST_HELD from filling up. */
const ACK_AFTER = 64 * 1024;

/**
 * A byte stream that outlives the connections that carry it: a cut is not seen above it. Each end keeps what the other has
 * not acknowledged. On a new link both say how far they got, and the rest is sent again: every byte arrives once, in order.
 */
export class ResumableStream {
  readonly token: Buffer;
  /** Called with what arrives, in the same tick. To be set before the stream is attached for the first time. */
  onBytes: (bytes: Buffer) => void = () => {};
  /** Called when it was full and is no longer. */
  onRoom: () => void = () => {};
  /** Why the other end ended it; undefined while it has not. */
  ended: ByeReason | undefined;
  #over = new AbortController();
  #pace: Pace;
  #link: Link | undefined;
  #outbox = new Outbox();
  /** Written in this turn of the event loop. */
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

  /** Aborts when the stream has ended, whoever has ended it. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Bytes that have come from the other end. */
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
   * Goes on over this link, instead of the one before, where the other end got to. To be called while the handshake's last
   * frame is handled, so that no frame behind it is missed. Resolves with the cause when the link is gone.
   */
  async attach(link: Link, peerReceived: number): Promise<string> {
    this.#link?.close('a newer connection took its place');
    this.#link = link;
    link.onFrame = (frame) => this.#take(frame);
    this.#progress(peerReceived);
    const { offset, chunks } = this.#outbox.held();
    this.#send(offset, chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    clearInterval(this.#beat);
    this.#beat = setInterval(() => this.#live(link), this.#pace.beat);
    const cause = await link.closed;
    if (this.#link === link) this.#detach();
    return cause;
  }

  /**
   * What is written within one turn leaves in one frame: the words of all connections that had something to say come together.
   * It costs no waiting. It is taken even when the stream is full, so do not go on then.
   */
  write(bytes: Buffer): void {
    if (this.#pieces.length === 0) setImmediate(() => this.#flush());
    this.#pieces.push(bytes);
    this.#gathered += bytes.length;
    this.#wasFull ||= this.full;
  }

  /** Ends the stream for good and lets the other end know. What was written is sent before. */
  leave(reason: ByeReason): void {
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

  #live(link: Link): void {
    if (link.silentFor > this.#pace.silence) {
      link.close(`nothing was heard from the other end for ${Math.round(link.silentFor / 1000)} s`);
    } else this.#acknowledge();
  }

  #take(frame: Frame): void {
    if (frame.type === 'data') this.#arrived(frame.offset, frame.bytes);
    else if (frame.type === 'ack') this.#progress(frame.received);
    else if (frame.type === 'bye') {
      this.ended = frame.reason;
      this.leave('ended');
    } else throw new BadFrame(`${frame.type} in the middle of a stream`);
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
    if (peerReceived > this.#outbox.end) throw new BadFrame('acknowledges what was never sent');
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

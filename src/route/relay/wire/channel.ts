import type { ChannelFrame } from './channel-frames.ts';

/** How many bytes of one direction of a channel can be in transit, or wait at the other end to be passed on. */
export const WINDOW = 512 * 1024;
/** Credit is granted in steps of at least this many bytes. */
const STEP = WINDOW / 8;

/** What a channel needs from the stream that carries it. */
export interface ChannelCarrier {
  send(frame: ChannelFrame): void;
  /** Whether the stream has no room for more bytes at the moment. */
  readonly full: boolean;
  /** Drops the channel; later frames for it are ignored. */
  forget(number: number): void;
}

/** One TCP connection, carried over the stream. After its end or a reset, nothing more is sent or received. */
export class Channel {
  /** Called with the bytes that the other end sends, in the same tick. */
  onBytes: (bytes: Buffer) => void = () => {};
  /** Called when the other end sends nothing more. */
  onEnd: () => void = () => {};
  /** Called when the other end has reset the channel, or the stream has ended. */
  onReset: () => void = () => {};
  /** Called when there is room again after `write` has returned false. */
  onRoom: () => void = () => {};
  readonly #number: number;
  readonly #carrier: ChannelCarrier;
  #receiveWindow = WINDOW;
  #sendWindow = WINDOW;
  #ended = false;
  #peerEnded = false;
  #closed = false;

  constructor(number: number, carrier: ChannelCarrier) {
    this.#number = number;
    this.#carrier = carrier;
  }

  /** Sends bytes. Returns false if the channel or the stream has no more room: wait for `onRoom`. */
  write(bytes: Buffer): boolean {
    if (this.#closed || this.#ended) return true;
    this.#sendWindow -= bytes.length;
    this.#carrier.send({ type: 'data', channel: this.#number, bytes });
    return this.#hasRoom;
  }

  /** Ends this direction: nothing more will be written. */
  end(): void {
    if (this.#closed || this.#ended) return;
    this.#ended = true;
    this.#carrier.send({ type: 'end', channel: this.#number });
    this.#closeWhenDone();
  }

  /** Breaks off both directions. Has no effect once both have ended. */
  reset(): void {
    if (this.#closed) return;
    this.#carrier.send({ type: 'reset', channel: this.#number });
    this.#close();
  }

  /** Grants credit for bytes that have been passed on: all that have arrived, except for `waiting` of them. */
  consumed(waiting: number): void {
    const bytes = WINDOW - this.#receiveWindow - waiting;
    if (bytes < STEP || this.#closed || this.#peerEnded) return;
    this.#receiveWindow += bytes;
    this.#carrier.send({ type: 'credit', channel: this.#number, bytes });
  }

  receive(frame: ChannelFrame): void {
    if (frame.type === 'data') {
      this.#receiveWindow -= frame.bytes.length;
      this.onBytes(frame.bytes);
    } else if (frame.type === 'credit') {
      this.#sendWindow += frame.bytes;
      this.continue();
    } else if (frame.type === 'end') {
      this.#peerEnded = true;
      this.#closeWhenDone();
      this.onEnd();
    } else if (frame.type === 'reset') this.breakOff();
  }

  /** Called when the stream has room again. */
  continue(): void {
    if (this.#hasRoom) this.onRoom();
  }

  breakOff(): void {
    this.#close();
    this.onReset();
  }

  get #hasRoom(): boolean {
    return this.#sendWindow > 0 && !this.#carrier.full;
  }

  #closeWhenDone(): void {
    if (this.#ended && this.#peerEnded) this.#close();
  }

  #close(): void {
    this.#closed = true;
    this.#carrier.forget(this.#number);
  }
}

import type { ChannelFrame } from './channel-frames.ts';

/** So many bytes of one direction of a channel may be under way, or wait where they are to be passed on. */
export const WINDOW = 512 * 1024;
/** Credit is given in no smaller pieces. */
const STEP = WINDOW / 8;

/** What a channel needs of the stream that carries it. */
export interface Carriage {
  say(frame: ChannelFrame): void;
  /** It takes no more for now. */
  readonly full: boolean;
  /** Nothing more is said or heard under this number. */
  forget(number: number): void;
}

/** One connection, as it is carried over the stream. After its end, or a reset, what is still said of it is not heard. */
export class Channel {
  /** Called with what the other end sends, in the same tick. */
  onBytes: (bytes: Buffer) => void = () => {};
  /** The other end has said all. */
  onEnd: () => void = () => {};
  /** Broken off by the other end, or with the stream. */
  onReset: () => void = () => {};
  /** After `write` has returned false: there is room again. */
  onRoom: () => void = () => {};
  readonly #number: number;
  readonly #carriage: Carriage;
  #mayCome = WINDOW;
  #maySend = WINDOW;
  #saidAll = false;
  #heardAll = false;
  #closed = false;

  constructor(number: number, carriage: Carriage) {
    this.#number = number;
    this.#carriage = carriage;
  }

  /** False when the other end, or the way there, has no more room: wait for `onRoom`. */
  write(bytes: Buffer): boolean {
    if (this.#closed || this.#saidAll) return true;
    this.#maySend -= bytes.length;
    this.#carriage.say({ type: 'data', channel: this.#number, bytes });
    return this.#hasRoom;
  }

  /** Nothing more will be written. */
  end(): void {
    if (this.#closed || this.#saidAll) return;
    this.#saidAll = true;
    this.#carriage.say({ type: 'end', channel: this.#number });
    this.#closeWhenDone();
  }

  /** Breaks it off. Nothing happens where both ends have said all. */
  reset(): void {
    if (this.#closed) return;
    this.#carriage.say({ type: 'reset', channel: this.#number });
    this.#close();
  }

  /** What has come was passed on, but for so many bytes that still wait: the other end may send as much again. */
  passedOn(waiting: number): void {
    const bytes = WINDOW - this.#mayCome - waiting;
    if (bytes < STEP || this.#closed || this.#heardAll) return;
    this.#mayCome += bytes;
    this.#carriage.say({ type: 'credit', channel: this.#number, bytes });
  }

  /** What the other end says of this channel. */
  hear(frame: ChannelFrame): void {
    if (frame.type === 'data') {
      this.#mayCome -= frame.bytes.length;
      this.onBytes(frame.bytes);
    } else if (frame.type === 'credit') {
      this.#maySend += frame.bytes;
      this.goOn();
    } else if (frame.type === 'end') {
      this.#heardAll = true;
      this.#closeWhenDone();
      this.onEnd();
    } else if (frame.type === 'reset') this.breakOff();
  }

  goOn(): void {
    if (this.#hasRoom) this.onRoom();
  }

  breakOff(): void {
    this.#close();
    this.onReset();
  }

  get #hasRoom(): boolean {
    return this.#maySend > 0 && !this.#carriage.full;
  }

  #closeWhenDone(): void {
    if (this.#saidAll && this.#heardAll) this.#close();
  }

  #close(): void {
    this.#closed = true;
    this.#carriage.forget(this.#number);
  }
}

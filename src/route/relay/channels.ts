import { type ChannelFrame, channelLimits, decodeChannel, encodeChannel } from './channel-frames.ts';
import { BadFrame, FrameReader } from './framing.ts';
import type { ResumableStream } from './resumable.ts';

/** So many bytes of one direction of a channel may be under way, or wait where they are to be passed on. */
export const WINDOW = 512 * 1024;
/** Credit is given in no smaller pieces. */
const STEP = WINDOW / 8;

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
  readonly #channels: Channels;
  #mayCome = WINDOW;
  #maySend = WINDOW;
  #saidAll = false;
  #heardAll = false;
  #closed = false;

  constructor(number: number, channels: Channels) {
    this.#number = number;
    this.#channels = channels;
  }

  /** False when the other end, or the way there, has no more room: wait for `onRoom`. */
  write(bytes: Buffer): boolean {
    if (this.#closed || this.#saidAll) return true;
    this.#maySend -= bytes.length;
    this.#channels.say({ type: 'data', channel: this.#number, bytes });
    return this.#hasRoom;
  }

  /** Nothing more will be written. */
  end(): void {
    if (this.#closed || this.#saidAll) return;
    this.#saidAll = true;
    this.#channels.say({ type: 'end', channel: this.#number });
    this.#closeWhenDone();
  }

  /** Breaks it off. Nothing happens where both ends have said all. */
  reset(): void {
    if (this.#closed) return;
    this.#channels.say({ type: 'reset', channel: this.#number });
    this.#close();
  }

  /** What has come was passed on, but for so many bytes that still wait: the other end may send as much again. */
  passedOn(waiting: number): void {
    const bytes = WINDOW - this.#mayCome - waiting;
    if (bytes < STEP || this.#closed || this.#heardAll) return;
    this.#mayCome += bytes;
    this.#channels.say({ type: 'credit', channel: this.#number, bytes });
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
    return this.#maySend > 0 && !this.#channels.full;
  }

  #closeWhenDone(): void {
    if (this.#saidAll && this.#heardAll) this.#close();
  }

  #close(): void {
    this.#closed = true;
    this.#channels.forget(this.#number);
  }
}

export interface ChannelsEvents {
  /** The other end has opened a channel for a connection to this port. */
  onOpen(channel: Channel, port: number): void;
  /** The other end listens on this port, or has failed to. */
  onPort(port: number, failure: string | undefined): void;
}

/** Many connections over one stream, each with a window of its own. All that are open break off with the stream. */
export class Channels {
  #stream: ResumableStream;
  #events: Partial<ChannelsEvents>;
  #open = new Map<number, Channel>();
  #last = 0;

  constructor(stream: ResumableStream, events: Partial<ChannelsEvents> = {}) {
    this.#stream = stream;
    this.#events = events;
    const reader = new FrameReader(channelLimits);
    stream.onBytes = (bytes) => this.#read(reader, bytes);
    stream.onRoom = () => {
      for (const channel of [...this.#open.values()]) channel.goOn();
    };
    stream.over.addEventListener('abort', () => {
      for (const channel of [...this.#open.values()]) channel.breakOff();
    });
  }

  /** For a connection that has come to this port. What is written follows at once. */
  open(port: number): Channel {
    this.#last += 1;
    this.say({ type: 'open', channel: this.#last, port });
    return this.#add(this.#last);
  }

  get full(): boolean {
    return this.#stream.full;
  }

  say(frame: ChannelFrame): void {
    for (const piece of encodeChannel(frame)) this.#stream.write(piece);
  }

  forget(number: number): void {
    this.#open.delete(number);
  }

  #add(number: number): Channel {
    const channel = new Channel(number, this);
    this.#open.set(number, channel);
    return channel;
  }

  /** What cannot be understood would come again after every cut, so the stream is over. */
  #read(reader: FrameReader, bytes: Buffer): void {
    try {
      reader.read(bytes, (kind, body) => this.#hear(decodeChannel(kind, body)));
    } catch (error) {
      if (!(error instanceof BadFrame)) throw error;
      this.#stream.leave('ended');
    }
  }

  #hear(frame: ChannelFrame): void {
    if (frame.type === 'port') this.#events.onPort?.(frame.port, frame.failure);
    else if (frame.type === 'open') this.#events.onOpen?.(this.#add(frame.channel), frame.port);
    else this.#open.get(frame.channel)?.hear(frame);
  }
}

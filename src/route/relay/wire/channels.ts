import { Channel, type ChannelCarrier } from './channel.ts';
import { type ChannelFrame, channelLimits, decodeChannel, encodeChannel } from './channel-frames.ts';
import { BadFrame, FrameReader } from './framing.ts';
import type { ResumableStream } from './resumable.ts';

export interface ChannelsEvents {
  /** Called when the other end has opened a channel for a connection to this port. */
  onOpen(channel: Channel, port: number): void;
  /** Called when the other end listens on this port, or cannot: `failure` is the cause. */
  onPort(port: number, failure: string | undefined): void;
}

/** Many connections over one stream, each with a window of its own. When the stream ends, those that are still open are reset. */
export class Channels implements ChannelCarrier {
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
      for (const channel of [...this.#open.values()]) channel.continue();
    };
    stream.over.addEventListener('abort', () => {
      for (const channel of [...this.#open.values()]) channel.breakOff();
    });
  }

  /** Opens a channel for a connection to this port. Bytes can be written at once. */
  open(port: number): Channel {
    this.#last += 1;
    this.send({ type: 'open', channel: this.#last, port });
    return this.#add(this.#last);
  }

  get full(): boolean {
    return this.#stream.full;
  }

  send(frame: ChannelFrame): void {
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

  /** A malformed frame ends the stream, because the stream would repeat it after every cut. */
  #read(reader: FrameReader, bytes: Buffer): void {
    try {
      reader.read(bytes, (kind, body) => this.#receive(decodeChannel(kind, body)));
    } catch (error) {
      if (!(error instanceof BadFrame)) throw error;
      this.#stream.end('ended');
    }
  }

  #receive(frame: ChannelFrame): void {
    if (frame.type === 'port') this.#events.onPort?.(frame.port, frame.failure);
    else if (frame.type === 'open') this.#events.onOpen?.(this.#add(frame.channel), frame.port);
    else this.#open.get(frame.channel)?.receive(frame);
  }
}

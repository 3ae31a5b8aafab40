import type { Socket } from 'node:net';
import type { Channel } from './channel.ts';

/** An answer is complete when nothing followed for so long, in ms: we do not read what we carry. */
const ANSWERED = 250;

/** What of a connection tells whether somebody waits for an answer. */
export class Traffic {
  #answeredAt: number | undefined = Number.NEGATIVE_INFINITY;

  asked(): void {
    this.#answeredAt = undefined;
  }

  answered(): void {
    this.#answeredAt = performance.now();
  }

  get busy(): boolean {
    return this.#answeredAt === undefined || performance.now() - this.#answeredAt < ANSWERED;
  }
}

/**
 * Carries a TCP connection over a channel as if there were nothing in between: back-pressure, half-close, and reset. The
 * socket must be paused, or not connected yet, and allow half-open.
 */
export function join(socket: Socket, channel: Channel): Traffic {
  const traffic = new Traffic();
  intoChannel(socket, channel, traffic);
  outOfChannel(socket, channel, traffic);
  socket.resume();
  return traffic;
}

function intoChannel(socket: Socket, channel: Channel, traffic: Traffic): void {
  socket.on('data', (chunk) => {
    traffic.asked();
    if (!channel.write(chunk)) socket.pause();
  });
  channel.onRoom = () => void socket.resume();
  socket.on('end', () => channel.end());
  socket.on('error', () => channel.reset());
  // After both sides have ended it means nothing; otherwise somebody has broken off in the middle.
  socket.on('close', () => channel.reset());
}

function outOfChannel(socket: Socket, channel: Channel, traffic: Traffic): void {
  channel.onBytes = (bytes) => {
    traffic.answered();
    socket.write(bytes);
    channel.passedOn(socket.writableLength);
  };
  socket.on('drain', () => channel.passedOn(socket.writableLength));
  channel.onEnd = () => void socket.end();
  // Node never closes a socket that is ended and reset while it connects. Nothing was said over that one yet.
  channel.onReset = () => void (socket.connecting ? socket.destroy() : socket.resetAndDestroy());
}

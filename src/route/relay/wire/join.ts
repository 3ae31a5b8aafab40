import type { Socket } from 'node:net';
import type { Channel } from './channel.ts';

/** Carried bytes are not parsed, so an answer counts as complete when nothing has followed for this long. */
const ANSWERED_MS = 250;

/** Shows whether somebody is waiting for an answer on a connection. */
export class Traffic {
  #answeredAt: number | undefined = Number.NEGATIVE_INFINITY;

  asked(): void {
    this.#answeredAt = undefined;
  }

  answered(): void {
    this.#answeredAt = performance.now();
  }

  get busy(): boolean {
    return this.#answeredAt === undefined || performance.now() - this.#answeredAt < ANSWERED_MS;
  }
}

/**
 * Carries a TCP connection over a channel, with back-pressure, half-close and reset. The socket must be paused or not connected
 * yet, and allow half-open connections.
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
  // This has no effect after both sides have ended; otherwise the connection broke in the middle.
  socket.on('close', () => channel.reset());
}

function outOfChannel(socket: Socket, channel: Channel, traffic: Traffic): void {
  channel.onBytes = (bytes) => {
    traffic.answered();
    socket.write(bytes);
    channel.consumed(socket.writableLength);
  };
  socket.on('drain', () => channel.consumed(socket.writableLength));
  channel.onEnd = () => void socket.end();
  // Node never closes a socket that is reset while it is still connecting, so such a socket is destroyed instead.
  channel.onReset = () => void (socket.connecting ? socket.destroy() : socket.resetAndDestroy());
}

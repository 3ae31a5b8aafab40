import type { Socket } from 'node:net';
import type { Channel } from 'ssh2';

/** Bytes that wait for the window of a channel before its socket is no longer read. */
const MOST_WAITING = 256 * 1024;

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
 * Carries a TCP connection over an SSH channel as if there were nothing in between: back-pressure, half-close, and reset. SSH
 * knows no reset, but an orderly end says EOF before it closes; so a channel that closes without is one. The socket must
 * be paused, or not connected yet, and allow half-open.
 */
export function join(socket: Socket, channel: Channel): Traffic {
  const traffic = new Traffic();
  intoChannel(socket, channel, traffic);
  outOfChannel(socket, channel, traffic);
  // Node destroys what has ended, and ssh2 would then end it again: an error with its stack each time, which nobody sees.
  channel.destroy = () => {
    channel.close();
    return channel;
  };
  socket.resume();
  return traffic;
}

function intoChannel(socket: Socket, channel: Channel, traffic: Traffic): void {
  let state: 'open' | 'ending' | 'ended' = 'open';
  const resume = (): void => {
    if (channel.writableLength < MOST_WAITING) socket.resume();
  };
  socket.on('data', (chunk) => {
    traffic.asked();
    channel.write(chunk, resume);
    if (channel.writableLength >= MOST_WAITING) socket.pause();
  });
  // Not channel.end(): at the serving end ssh2 would close the whole channel, and no answer could come back.
  socket.on('end', () => {
    state = 'ending';
    if (!channel.writable) return;
    channel.write('', () => {
      channel.eof();
      state = 'ended';
      if (socket.closed) channel.close();
    });
  });
  socket.on('error', () => channel.close());
  // After both sides have ended, or broken off in the middle. What is still to be said is said first.
  socket.on('close', () => {
    if (state !== 'ending' || !channel.writable) channel.close();
  });
}

function outOfChannel(socket: Socket, channel: Channel, traffic: Traffic): void {
  // Node never closes a socket that is ended and reset while it connects. Nothing was said over that one yet.
  const reset = (): void => void (socket.connecting ? socket.destroy() : socket.resetAndDestroy());
  channel.on('data', (chunk: Buffer) => {
    traffic.answered();
    if (socket.write(chunk)) return;
    channel.pause();
    socket.once('drain', () => channel.resume());
  });
  channel.on('error', reset);
  channel.on('end', () => socket.end());
  // The other end has gone although this one had more to say.
  channel.on('close', () => socket.readableEnded || reset());
  onBrokenOff(channel, reset);
}

/** ssh2 tells nobody whether an end was an EOF or the closing of the channel; only its own state does, at this moment. */
function onBrokenOff(channel: Channel, brokenOff: () => void): void {
  const push = channel.push.bind(channel);
  let ended = false;
  channel.push = (chunk: unknown) => {
    if (chunk !== null || ended) return push(chunk);
    ended = true;
    if ((channel.incoming as { state: string }).state === 'eof') return push(chunk);
    brokenOff();
    return push(chunk);
  };
}

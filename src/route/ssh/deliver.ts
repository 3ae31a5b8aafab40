import type { Socket } from 'node:net';
import type { Channel } from 'ssh2';

/** What we know of the inside of ssh2 (1.17): it lowers the window by what has arrived, then pushes it; at the end, null. */
interface Inside {
  incoming: { window: number };
  outgoing: { id: number; state: string };
  _client: { _protocol?: { channelWindowAdjust(id: number, bytes: number): void } };
  push(piece: Buffer | null): boolean;
}

/** As in ssh2: how many bytes may be under way or wait here. */
const WINDOW = 2 * 1024 * 1024;
const STEP = WINDOW / 8;

/**
 * Writes what arrives on a channel to a socket, and ends that after it. The channel's own stream is left out: it costs more
 * than to encrypt and decrypt. So it is ours to let the host send on, and we do so for what the socket has passed on. ssh2
 * does when half of the window is used up, and over a link with round-trip time the host stands still for half of it.
 */
export function deliver(channel: Channel, socket: Socket): void {
  const inside = channel as unknown as Inside;
  const { push, incoming, outgoing, _client } = inside;
  const giveCredit = (): void => {
    const credit = WINDOW - incoming.window - socket.writableLength;
    if (credit < STEP || outgoing.state === 'closing' || outgoing.state === 'closed') return;
    incoming.window += credit;
    _client._protocol?.channelWindowAdjust(outgoing.id, credit);
  };
  inside.push = (piece) => {
    if (piece === null) return push.call(channel, null);
    socket.write(piece);
    giveCredit();
    // To ssh2 this says that the stream is full, and then it lets the host wait.
    return false;
  };
  socket.on('drain', giveCredit);
  channel.once('end', () => socket.end());
  channel.resume();
}

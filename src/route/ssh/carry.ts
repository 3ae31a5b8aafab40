import { connect, type Socket } from 'node:net';
import type { Channel } from 'ssh2';
import { giveCreditEarly } from './early-credit.ts';

/**
 * Carries one connection between an SSH channel and a port of this machine, until both sides have ended it. Each side may
 * end its half first; a broken local side closes the channel. The socket is in `open` as long as it lives.
 */
export function carry(channel: Channel, port: number, open: Set<Socket>): void {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true });
  open.add(socket);
  giveCreditEarly(channel);
  channel.pipe(socket);
  socket.pipe(channel);
  // What broke it, the end tells: a channel that is closed without its end-of-file is a reset to the far side.
  socket.on('error', () => channel.close());
  socket.once('close', () => open.delete(socket));
  // The far side is gone altogether: what it had sent still goes through, and there is nobody left to send to.
  channel.once('close', () => socket.destroySoon());
  channel.on('error', () => socket.resetAndDestroy());
}

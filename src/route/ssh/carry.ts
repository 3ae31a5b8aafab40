import { connect, type Socket } from 'node:net';
import type { Channel } from 'ssh2';
import { deliver } from './deliver.ts';

/** All connections read into the same memory: what one has read is copied before the next one reads. */
const READ = Buffer.allocUnsafe(64 * 1024);

/**
 * Carries one connection between an SSH channel and a port of this machine, until both sides have ended it. Each side may
 * end its half first; a broken local side closes the channel. The socket is in `open` as long as it lives.
 */
export function carry(channel: Channel, port: number, open: Set<Socket>): void {
  const socket = connect({
    host: '127.0.0.1',
    port,
    allowHalfOpen: true,
    noDelay: true,
    // In place of the socket's stream, which takes new memory for each reading. It stops while the channel is full.
    onread: { buffer: READ, callback: (size) => send(channel, READ.subarray(0, size)) },
  });
  open.add(socket);
  channel.on('drain', () => socket.resume());
  socket.once('end', () => channel.end());
  deliver(channel, socket);
  // What broke it, the end tells: a channel that is closed without its end-of-file is a reset to the far side.
  socket.on('error', () => channel.close());
  socket.once('close', () => open.delete(socket));
  // The far side is gone altogether: what it had sent still goes through, and there is nobody left to send to.
  channel.once('close', () => socket.destroySoon());
  channel.on('error', () => socket.resetAndDestroy());
}

/** False where the channel takes no more until it has drained. Where the far side has closed it, nobody waits for the bytes. */
function send(channel: Channel, bytes: Buffer): boolean {
  return channel.writableEnded || channel.write(Buffer.from(bytes));
}

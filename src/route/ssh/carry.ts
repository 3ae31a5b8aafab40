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

/** What we know of the inside of ssh2 (1.17): how many bytes the far side takes now, and how many in one packet. */
interface Inside {
  outgoing: { id: number; state: string; window: number; packetSize: number };
  _client: { _protocol?: { channelData(id: number, bytes: Buffer): void } };
}

/**
 * What the far side takes now goes into packets at once. The rest waits in the channel's stream, which costs a copy and a turn
 * of its own for each piece. False where the channel takes no more until it has drained.
 */
function send(channel: Channel, bytes: Buffer): boolean {
  // The far side has closed it: nobody waits for the bytes.
  if (channel.writableEnded) return true;
  const { outgoing, _client } = channel as unknown as Inside;
  const fits = channel.writableLength === 0 && bytes.length <= outgoing.window && outgoing.state === 'open';
  if (!fits || !_client._protocol) return channel.write(Buffer.from(bytes));
  outgoing.window -= bytes.length;
  for (let at = 0; at < bytes.length; at += outgoing.packetSize) {
    _client._protocol.channelData(outgoing.id, bytes.subarray(at, at + outgoing.packetSize));
  }
  return true;
}

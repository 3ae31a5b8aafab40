import { connect } from 'node:net';
import type { Dialled } from './explain.ts';

/** What a TCP connection from this machine meets. */
export function dial(address: string, port: number, limitMs: number): Promise<Dialled> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port });
    const timer = setTimeout(() => done('silent'), limitMs);
    function done(result: Dialled): void {
      clearTimeout(timer);
      socket.destroy();
      resolve(result);
    }
    socket.once('connect', () => done('open'));
    socket.once('error', (error: NodeJS.ErrnoException) =>
      done(error.code === 'ECONNREFUSED' ? 'refused' : 'silent'),
    );
  });
}

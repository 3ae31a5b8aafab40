import { connect } from 'node:net';
import { Channels } from './wire/channels.ts';
import { join } from './wire/join.ts';
import type { ResumableStream } from './wire/resumable.ts';

const LOCALHOST = '127.0.0.1';

/**
 * Connects each channel of the stream to its gateway on this machine. `ports` maps gateway ports to ports of the Pod. Resolves
 * when the program listens on all of them; rejects if it cannot, or if it ends before.
 */
export async function carryToGateways(stream: ResumableStream, ports: Map<number, number>): Promise<void> {
  const gatewayPorts = new Map([...ports].map(([gateway, pod]) => [pod, gateway]));
  const awaited = new Set(gatewayPorts.keys());
  await new Promise<void>((resolve, reject) => {
    const ended = (): void => reject(new Error('the relay program ended the session'));
    stream.over.addEventListener('abort', ended);
    if (stream.over.aborted) ended();
    new Channels(stream, {
      onOpen(channel, pod) {
        const port = gatewayPorts.get(pod);
        if (port === undefined) return channel.reset();
        join(connect({ host: LOCALHOST, port, allowHalfOpen: true, noDelay: true }), channel);
      },
      onPort(port, failure) {
        awaited.delete(port);
        if (failure !== undefined) {
          reject(new Error(`the relay program cannot listen on port ${port}: ${failure}`));
        } else if (awaited.size === 0) resolve();
      },
    });
  });
}

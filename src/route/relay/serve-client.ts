import { Channels } from './channels.ts';
import type { ResumableStream } from './resumable.ts';
import type { WebhookPort } from './webhook-port.ts';

/** Listens on the ports for as long as the stream lasts, opens a channel for each connection that comes, and says how listening went. */
export function serveClient(
  stream: ResumableStream,
  ports: Map<number, WebhookPort>,
  log: (line: string) => void,
): void {
  const channels = new Channels(stream);
  for (const [number, port] of ports) {
    const carrier = () => channels.open(number);
    stream.over.addEventListener('abort', () => port.release(carrier));
    port.serve(carrier).then(
      () => channels.say({ type: 'port', port: number, failure: undefined }),
      (error: Error) => {
        log(`cannot listen on port ${number}: ${error.message}`);
        channels.say({ type: 'port', port: number, failure: error.message });
      },
    );
  }
}

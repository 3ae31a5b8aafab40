import type { IncomingMessage } from 'node:http';
import type { ApiCall, CalledResource } from '../api-proxy/api-call.ts';
import { LARGEST_KEPT } from '../api-proxy/observed.ts';
import type { Forwarder } from '../cluster/api/pass-on.ts';

/** A write waits no longer for the read before it. */
const LONGEST_MS = 250;

/** Reads the object of a call as JSON. Resolves in any case, soon, and with nothing if it could not be read. */
export async function readBefore(
  { resource }: ApiCall,
  upstream: Pick<Forwarder, 'forward'>,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  const over = new AbortController();
  const { promise: limit, resolve } = Promise.withResolvers<undefined>();
  // A login can take longer, and does not end with the signal.
  const timer = setTimeout(() => {
    over.abort();
    resolve(undefined);
  }, LONGEST_MS);
  try {
    const reading = read(pathOf(resource!), upstream, AbortSignal.any([signal, over.signal]));
    return await Promise.race([reading.catch(() => undefined), limit]);
  } finally {
    clearTimeout(timer);
  }
}

async function read(
  path: string,
  upstream: Pick<Forwarder, 'forward'>,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  const headers = { accept: 'application/json' };
  const answer = await upstream.forward({ method: 'GET', path, headers, body: Buffer.alloc(0), signal });
  const body = await bodyOf(answer);
  return answer.statusCode === 200 ? body : undefined;
}

/** Of a larger answer, the connection is closed. */
async function bodyOf(answer: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer) {
    size += (chunk as Buffer).length;
    if (size > LARGEST_KEPT) return undefined;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

/** The path of the object itself, for a subresource, too. */
function pathOf({ group, version, namespace, resource, name }: CalledResource): string {
  const parts = [
    ...(group === '' ? ['api'] : ['apis', group]),
    version,
    ...(namespace === undefined ? [] : ['namespaces', namespace]),
    resource,
    name!,
  ];
  return `/${parts.map(encodeURIComponent).join('/')}`;
}

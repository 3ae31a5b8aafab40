import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';

/** A request's body. Only one that was read as a whole can be sent again, with other credentials. */
export interface RequestBody {
  /** The first bytes, or all of them. */
  kept: Buffer;
  /** The rest of a body that is larger than the limit. */
  rest?: Readable;
}

/** Reads a body, but no more than `limit` bytes and one chunk. Rejects if the client is gone before that. */
export async function readBody(request: IncomingMessage, limit: number): Promise<RequestBody> {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
  // Most calls read, and have no body to wait for.
  if (length === '0' && encoding === undefined) return { kept: Buffer.alloc(0) };
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk as Buffer);
    size += (chunk as Buffer).length;
    if (size > limit) return { kept: Buffer.concat(chunks), rest: request };
  }
  return { kept: Buffer.concat(chunks) };
}

import type { Readable } from 'node:stream';

/**
 * A whole body, or undefined where it is longer than the limit. Then the rest is read and dropped: a client that is
 * cut off while it sends sees a reset and not our answer.
 */
export function readBody(stream: Readable, limit: number, signal?: AbortSignal): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = [];
    let size = 0;
    const stop = () => reject(signal?.reason);
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) chunks.push(chunk);
      else chunks = [];
    });
    stream.on('end', () => resolve(size > limit ? undefined : joined(chunks)));
    stream.on('error', reject);
    stream.on('close', () => {
      signal?.removeEventListener('abort', stop);
      // After an end this does nothing.
      reject(new Error('the connection was closed in the middle'));
    });
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted) stop();
  });
}

function joined(chunks: Buffer[]): Buffer {
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

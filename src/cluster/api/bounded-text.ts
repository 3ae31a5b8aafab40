import type { Readable } from 'node:stream';

/** Far more than a credential needs. */
const MOST_BYTES = 1024 * 1024;

/** Why a text was not read to its end. */
export class TooLong extends Error {
  constructor() {
    super(`more than ${MOST_BYTES / 2 ** 20} MiB`);
  }
}

/** The text of a stream, up to 1 MiB. A longer stream is destroyed, and this rejects with TooLong. */
export async function boundedText(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new TooLong();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

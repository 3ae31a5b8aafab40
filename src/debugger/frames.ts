/** Messages of the Debug Adapter Protocol on a byte stream: `Content-Length: 42`, an empty line, and 42 bytes of JSON. */

/** The variables of a big program make messages of several megabytes. */
export const LARGEST_MESSAGE = 32 * 2 ** 20;
const LARGEST_HEADER = 4 * 2 ** 10;
const END_OF_HEADER = '\r\n\r\n';
const LENGTH = /^content-length: *(\d{1,10}) *$/im;
/**
 * The form of a header. A website can make a browser send HTTP requests here: they have a Content-Length, too, but begin with a request
 * line, which does not match.
 */
const FIELDS = /^[\w-]+:[^\r\n]*(?:\r\n[\w-]+:[^\r\n]*)*$/;

/**
 * Takes bytes as they arrive, and returns the messages that are complete. Throws if the stream is not valid; nothing more can be read from
 * it then.
 */
export class MessageReader {
  #chunks: Buffer[] = [];
  #length = 0;
  /** With fewer bytes than this, no message is complete. */
  #needed = 1;
  #bytes = Buffer.alloc(0);

  read(chunk: Buffer): string[] {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (this.#length < this.#needed) return [];
    this.#bytes = Buffer.concat(this.#chunks);
    const messages: string[] = [];
    for (let next = this.#next(); next !== undefined; next = this.#next()) messages.push(next);
    this.#chunks = [this.#bytes];
    this.#length = this.#bytes.length;
    return messages;
  }

  #next(): string | undefined {
    const header = this.#bytes.subarray(0, LARGEST_HEADER).indexOf(END_OF_HEADER);
    if (header < 0) {
      if (this.#bytes.length >= LARGEST_HEADER) throw new Error('a message has no header');
      this.#needed = this.#bytes.length + 1;
      return undefined;
    }
    const fields = this.#bytes.toString('latin1', 0, header);
    if (!FIELDS.test(fields)) throw new Error('a message does not begin with its header');
    const length = Number(LENGTH.exec(fields)?.[1] ?? Number.NaN);
    if (Number.isNaN(length)) throw new Error('a message has no Content-Length');
    if (length > LARGEST_MESSAGE) throw new Error(`a message of ${length} bytes is too large`);
    const begin = header + END_OF_HEADER.length;
    this.#needed = begin + length;
    if (this.#bytes.length < this.#needed) return undefined;
    const message = this.#bytes.toString('utf8', begin, this.#needed);
    this.#bytes = this.#bytes.subarray(this.#needed);
    return message;
  }
}

export function framed(message: string): Buffer {
  const body = Buffer.from(message);
  return Buffer.concat([Buffer.from(`Content-Length: ${body.length}${END_OF_HEADER}`), body]);
}

/** The protocol of a client, according to the first byte that it sends: DAP begins with a header, delve's JSON-RPC with an object. */
export function protocolOf(first: Buffer): 'dap' | 'json-rpc' | undefined {
  if (first[0] === 'C'.charCodeAt(0)) return 'dap';
  return first[0] === '{'.charCodeAt(0) ? 'json-rpc' : undefined;
}

import { type Answer, forwardable } from './http.ts';

/** The longest head of an answer, and the longest line of a chunked body, in bytes. This is Node's own limit. */
const LONGEST_HEAD = 16 * 1024;
const NOTHING = Buffer.alloc(0);

export interface ParsedAnswer {
  answer: Answer;
  /** Whether the connection can carry another request. */
  keepsAlive: boolean;
}

interface Head {
  status: number;
  /** Names and values, alternating. */
  headers: string[];
  keepsAlive: boolean;
  body: number | 'chunked' | 'until-end';
}

/**
 * Reads the HTTP/1.1 answer to one POST (RFC 9112), from parts of any size. Node exports no parser, and its HTTP client would take most of
 * the time of a review in the gateway.
 */
export class AnswerParser {
  #head: Head | undefined;
  /** Bytes of an incomplete head or line. */
  #rest: Buffer = NOTHING;
  #body: Buffer[] = [];
  /** Bytes still missing from the body or from the current chunk; undefined between chunks. */
  #left: number | undefined;
  #isInTrailers = false;
  #onBody: (bytes: number) => void;

  /** `onBody` gets the length of each part of the body. */
  constructor(onBody: (bytes: number) => void) {
    this.#onBody = onBody;
  }

  /** Returns the answer if this part completes it. Throws if the bytes are not an HTTP answer. */
  push(part: Buffer): ParsedAnswer | undefined {
    let bytes = this.#rest.length === 0 ? part : Buffer.concat([this.#rest, part]);
    this.#rest = NOTHING;
    while (this.#head === undefined) {
      const end = bytes.indexOf('\r\n\r\n');
      if (end < 0) return this.#keep(bytes);
      const head = parseHead(bytes.toString('latin1', 0, end));
      bytes = bytes.subarray(end + 4);
      // After a 1xx answer, another one follows.
      if (head.status >= 200) this.#head = head;
    }
    if (this.#head.body === 'chunked') return this.#pushChunks(bytes);
    if (this.#head.body === 'until-end') return this.#add(bytes);
    this.#left ??= this.#head.body;
    const rest = this.#take(bytes, this.#left);
    return this.#left === 0 ? this.#complete(rest) : undefined;
  }

  /** The answer, if the end of the connection completes it. */
  end(): ParsedAnswer | undefined {
    return this.#head?.body === 'until-end' ? this.#complete(NOTHING) : undefined;
  }

  #pushChunks(all: Buffer): ParsedAnswer | undefined {
    let bytes = all;
    for (;;) {
      if (this.#left !== undefined && this.#left > 0) bytes = this.#take(bytes, this.#left);
      const end = bytes.indexOf('\r\n');
      if (end < 0) return this.#keep(bytes);
      const line = bytes.toString('latin1', 0, end);
      bytes = bytes.subarray(end + 2);
      if (this.#isInTrailers && line === '') return this.#complete(bytes);
      if (!this.#isInTrailers) this.#readLine(line);
    }
  }

  /** Reads the length line of a chunk, or the line end after a chunk. */
  #readLine(line: string): void {
    if (this.#left === undefined) {
      const size = chunkSize(line);
      if (size === 0) this.#isInTrailers = true;
      else this.#left = size;
    } else {
      if (line !== '') throw new Error('a chunk of the answer is longer than it says');
      this.#left = undefined;
    }
  }

  /** Adds at most `most` bytes to the body; returns the bytes that do not belong to it. */
  #take(bytes: Buffer, most: number): Buffer {
    const taken = bytes.subarray(0, most);
    this.#left = most - taken.length;
    this.#add(taken);
    return bytes.subarray(taken.length);
  }

  #add(part: Buffer): undefined {
    if (part.length === 0) return undefined;
    this.#onBody(part.length);
    this.#body.push(part);
    return undefined;
  }

  #keep(bytes: Buffer): undefined {
    if (bytes.length > LONGEST_HEAD)
      throw new Error('the head of the answer is too long, or it is not HTTP/1.1');
    this.#rest = bytes;
  }

  #complete(surplus: Buffer): ParsedAnswer {
    const { status, headers, keepsAlive } = this.#head!;
    const body = this.#body.length === 1 ? this.#body[0]! : Buffer.concat(this.#body);
    const answer = { status, headers: forwardable(headers), body };
    return { answer, keepsAlive: keepsAlive && surplus.length === 0 };
  }
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;
const FIELD = /^([\w!#$%&'*+.^`|~-]+):[ \t]*(.*?)[ \t]*$/;

function parseHead(text: string): Head {
  const [first = '', ...lines] = text.split('\r\n');
  const [, minor, code] = STATUS_LINE.exec(first) ?? [];
  const status = Number(code);
  if (minor === undefined || status === 101) throw new Error('the answer is not HTTP/1.1');
  const headers: string[] = [];
  const named = new Map<string, string>();
  for (const line of lines) {
    const [, name, value] = FIELD.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error('a header of the answer is not HTTP/1.1');
    headers.push(name, value);
    const lower = name.toLowerCase();
    const earlier = named.get(lower);
    named.set(lower, earlier === undefined ? value : `${earlier}, ${value}`);
  }
  const connection = (named.get('connection') ?? '').toLowerCase().split(/[ \t]*,[ \t]*/);
  const keepsAlive = minor === '1' ? !connection.includes('close') : connection.includes('keep-alive');
  const body = status === 204 || status === 304 ? 0 : bodyOf(named);
  return { status, headers, keepsAlive: keepsAlive && body !== 'until-end', body };
}

function bodyOf(headers: Map<string, string>): Head['body'] {
  const encoding = headers.get('transfer-encoding')?.toLowerCase();
  const length = headers.get('content-length');
  if (encoding !== undefined) {
    if (encoding !== 'chunked' || length !== undefined)
      throw new Error('the length of the answer is not clear: its Transfer-Encoding is not just chunked');
    return 'chunked';
  }
  if (length === undefined) return 'until-end';
  if (!/^\d{1,15}$/.test(length)) throw new Error('the Content-Length of the answer is not a number');
  return Number(length);
}

/** The length in a line such as `1a;name=value`, in bytes. */
function chunkSize(line: string): number {
  const [, digits] = /^([\da-f]{1,12})[ \t]*(?:;.*)?$/i.exec(line) ?? [];
  if (digits === undefined) throw new Error('a chunk of the answer has no length');
  return Number.parseInt(digits, 16);
}

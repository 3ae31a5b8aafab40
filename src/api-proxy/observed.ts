import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { dateOf } from '../machine/elapsed.ts';
import { type SaidBesides, takeWarnings } from './answer-warnings.ts';
import type { ApiCall } from './api-call.ts';

/** A call whose answer has ended, as far as it is kept; or a watch that goes on, when it has sent each object that there was. */
export interface ServedCall {
  call: ApiCall;
  /** When it arrived, in milliseconds since 1970, with fractions. */
  at: number;
  /** Those of the request. */
  headers: IncomingHttpHeaders;
  /** Absent if there was none. */
  answer?: ServedAnswer;
  /** Whether devloop answered in place of the API server. */
  isOwn?: true;
  /** It goes on, and is served again when it ends. */
  isOpen?: true;
  /** The rules of faults that the call met. */
  faults?: string[];
  ms: number;
}

export interface ServedAnswer extends Partial<SaidBesides> {
  status: number;
  headers: IncomingHttpHeaders;
  /** Absent if it was larger than what is kept, a watch, or another protocol. */
  body?: Buffer;
  bytes: number;
  /** How large it is if it was compressed. */
  unpackedBytes?: number;
  /** Of a watch: how many events it has sent. */
  events?: number;
  /** The connection ended before the answer did. */
  isCut?: true;
}

/** Gets what passes the proxy. It only notes it, since nothing waits for it. */
export interface CallHooks {
  /** `served` follows in any case. */
  begun?(call: ApiCall): void;
  served(call: ServedCall): void;
  /** A watch was accepted, which is served only when it ends. `headers`: those of the request. */
  opened?(call: ApiCall, headers: IncomingHttpHeaders): void;
  /**
   * Called before a write is sent, and may delay it for a short time, to learn what it changes. Undefined if there is nothing to wait
   * for. If it fails, the write goes on.
   */
  beforeWrite?(call: ApiCall, signal: AbortSignal): Promise<void> | undefined;
  /** One event of a watch, as JSON, and when it passed. */
  watched(event: Buffer, at: number, call: ApiCall): void;
}

/** Larger bodies are not kept. */
export const LARGEST_KEPT = 2 ** 20;
/** The connection speaks another protocol from now on. */
const SWITCHED = 101;
const LINE_END = 0x0a;
const JSON_TYPE = 'application/json';
/** The bookmark that says so has it among its annotations, and little else. */
const LISTED = 'k8s.io/initial-events-end';
const LARGEST_BOOKMARK = 4_096;
/** The end of gzip's format: how large the content is. */
const SIZE_BYTES = 4;

/** What devloop's addition to the controller says about a call. The API server does not get it. */
export const TAGS = /^devloop-/;

/**
 * The headers for the API server. Where the client accepts JSON, answers to writes and events are asked for as JSON alone, so that they can
 * be read; lists can be large, and stay as the client prefers them.
 */
export function upstreamHeaders(
  headers: IncomingHttpHeaders,
  { verb }: ApiCall,
  isObserved: boolean,
): IncomingHttpHeaders {
  const passed = Object.fromEntries(Object.entries(headers).filter(([name]) => !TAGS.test(name)));
  if (!isObserved || verb === 'get' || verb === 'list' || verb === 'connect') return passed;
  const { 'accept-encoding': _, ...rest } = passed;
  const accepted = (headers.accept ?? '*/*').split(',').map((type) => type.trim());
  const readable = accepted.filter((type) => type.startsWith(JSON_TYPE));
  if (readable.length > 0) return { ...rest, accept: readable.join(',') };
  return accepted.some((type) => type.startsWith('*/*')) ? { ...rest, accept: JSON_TYPE } : rest;
}

/** Follows one call, and tells the hooks when its answer has ended. */
export class CallTrace {
  #hooks: CallHooks;
  #served: ServedCall;
  #startedAt = performance.now();
  #kept: Buffer[] | undefined = [];
  #isTold = false;
  #isListed = false;
  #end: Buffer = Buffer.alloc(0);

  constructor(hooks: CallHooks, call: ApiCall, headers: IncomingHttpHeaders) {
    this.#hooks = hooks;
    this.#served = { call, at: dateOf(), headers, ms: 0 };
    hooks.begun?.(call);
  }

  /** The call meets rules of faults. */
  injected(rules: string[]): void {
    this.#served.faults = rules;
  }

  /**
   * The answer has begun, and `body`, which the client gets, has not been read from yet. Removes from the headers what is not for the controller.
   */
  answered({ statusCode: status = 0, headers }: IncomingMessage, body: Readable): void {
    const served: ServedAnswer = { status, headers, bytes: 0, ...takeWarnings(headers) };
    this.#served.answer = served;
    const isWatch = this.#served.call.verb === 'watch' && status === 200;
    // What `exec` prints is for nobody else.
    if (isWatch || status === SWITCHED) this.#kept = undefined;
    if (isWatch) {
      this.#hooks.opened?.(this.#served.call, this.#served.headers);
    }
    const isReadable =
      headers['content-encoding'] === undefined && (headers['content-type'] ?? '').includes('json');
    const lines = isWatch && isReadable ? new Lines((line) => this.#watched(line, served)) : undefined;
    const isPacked = headers['content-encoding'] === 'gzip';
    body.on('data', (chunk: Buffer) => {
      served.bytes += chunk.length;
      if (isPacked) this.#keepEnd(chunk);
      if (served.bytes > LARGEST_KEPT) this.#kept = undefined;
      this.#kept?.push(chunk);
      lines?.add(chunk);
    });
  }

  refused(status: number, body: Buffer): void {
    this.#served.isOwn = true;
    this.#served.answer = { status, headers: { 'content-type': JSON_TYPE }, body, bytes: body.length };
    this.ended();
  }

  ended(isCut = false): void {
    if (this.#isTold) return;
    this.#isTold = true;
    const { answer } = this.#served;
    if (answer && isCut) answer.isCut = true;
    else if (answer && this.#kept) answer.body ??= Buffer.concat(this.#kept);
    if (answer && !isCut && this.#end.length === SIZE_BYTES) answer.unpackedBytes = this.#end.readUInt32LE();
    this.#served.ms = performance.now() - this.#startedAt;
    this.#hooks.served(this.#served);
  }

  #watched(line: Buffer, answer: ServedAnswer): void {
    const { call } = this.#served;
    this.#hooks.watched(line, dateOf(), call);
    answer.events = (answer.events ?? 0) + 1;
    if (this.#isListed || line.length > LARGEST_BOOKMARK || !line.includes(LISTED)) return;
    this.#isListed = true;
    const ms = performance.now() - this.#startedAt;
    this.#hooks.served({ ...this.#served, answer: { ...answer }, isOpen: true, ms });
  }

  #keepEnd(chunk: Buffer): void {
    const end = chunk.length < SIZE_BYTES ? Buffer.concat([this.#end, chunk]) : chunk;
    this.#end = end.subarray(-SIZE_BYTES);
  }
}

/** Splits what arrives into lines. A line that is larger than what is kept is left out. */
class Lines {
  #onLine: (line: Buffer) => void;
  #parts: Buffer[] = [];
  #size = 0;

  constructor(onLine: (line: Buffer) => void) {
    this.#onLine = onLine;
  }

  add(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, from)) {
      this.#keep(chunk.subarray(from, end));
      if (this.#size <= LARGEST_KEPT) this.#onLine(Buffer.concat(this.#parts));
      this.#parts = [];
      this.#size = 0;
      from = end + 1;
    }
    this.#keep(chunk.subarray(from));
  }

  #keep(part: Buffer): void {
    this.#size += part.length;
    if (this.#size > LARGEST_KEPT) this.#parts = [];
    else if (part.length > 0) this.#parts.push(part);
  }
}

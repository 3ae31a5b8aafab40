import type { Readable } from 'node:stream';
import {
  deserializeMessage,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type RequestId,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/server';

/** Of one message, and of all that wait to be read. A client that pipelines more has to wait until answers are sent. */
const LONGEST = 2 ** 20;
/** How many requests are worked on at once. */
const MOST_UNANSWERED = 32;
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;

export interface Stdio {
  stdin: Readable;
  write(text: string): void;
}

export interface LineTransport extends Transport {
  /** Resolves when the client is gone, or the transport is closed. */
  closed: Promise<void>;
  /** The request keeps its place among those that are worked on until this settles, even if it is cancelled. */
  worksOn(id: RequestId, work: Promise<unknown>): void;
}

/**
 * One JSON-RPC message per line. The library's own transport reads without limits, and answers nothing to what is no message, so that its
 * sender would wait for ever.
 */
export function createTransport({ stdin, write }: Stdio): LineTransport {
  const linesOf = createLines();
  let waiting: string[] = [];
  let size = 0;
  const places = createPlaces(() => go());
  const closed = Promise.withResolvers<void>();
  const refuse = (code: number, message: string, id: RequestId | null = null): void =>
    write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })}\n`);
  const receive = (line: string): void => {
    const message = messageIn(line, refuse);
    if (message === undefined) return;
    if (isJSONRPCRequest(message) && !places.take(message.id)) {
      // With the id, this would be taken for the answer to the first one.
      refuse(INVALID_REQUEST, 'A request with this id is under way.');
      return;
    }
    if ('method' in message && message.method === 'notifications/cancelled')
      places.cancel(message.params?.requestId as RequestId);
    transport.onmessage?.(message);
  };
  const go = (): void => {
    let done = 0;
    while (done < waiting.length && places.areFree()) {
      const line = waiting[done++]!;
      size -= line.length + 1;
      receive(line);
    }
    if (done > 0) waiting = waiting.slice(done);
    if (size > LONGEST) stdin.pause();
    else stdin.resume();
  };
  const onData = (text: string): void => {
    for (const line of linesOf(text)) {
      if (line === undefined) refuse(INVALID_REQUEST, `A message has at most ${LONGEST} characters.`);
      else if (line.trim() !== '') {
        waiting.push(line);
        size += line.length + 1;
      }
    }
    go();
  };
  const close = async (): Promise<void> => {
    stdin.off('data', onData).off('end', close).off('error', close).off('close', close);
    stdin.pause();
    transport.onclose?.();
    closed.resolve();
  };
  const transport: LineTransport = {
    closed: closed.promise,
    async start() {
      stdin.setEncoding('utf8').on('data', onData).on('end', close).on('error', close).on('close', close);
    },
    async send(message) {
      write(serializeMessage(message));
      if (!('method' in message) && message.id !== undefined) places.free(message.id);
    },
    worksOn: places.keep,
    close,
  };
  return transport;
}

/** Which requests are worked on. */
function createPlaces(onFree: () => void) {
  const taken = new Set<RequestId>();
  const kept = new Set<RequestId>();
  const free = (id: RequestId): void => {
    taken.delete(id);
    // What is read next must not run before the request itself has ended.
    setImmediate(onFree);
  };
  return {
    areFree: (): boolean => taken.size < MOST_UNANSWERED,
    take: (id: RequestId): boolean => !taken.has(id) && taken.add(id) !== undefined,
    free,
    /** It gets no answer. Whether it has begun shows only once what was read before was handled. */
    cancel(id: RequestId): void {
      setImmediate(() => {
        if (!kept.has(id)) free(id);
      });
    },
    /** Until the work has settled. */
    keep(id: RequestId, work: Promise<unknown>): void {
      kept.add(id);
      void work.finally(() => {
        kept.delete(id);
        free(id);
      });
    },
  };
}

/** Puts the lines of a stream together. One that is too long is undefined, as soon as it is. */
function createLines(): (text: string) => (string | undefined)[] {
  let parts: string[] = [];
  let length = 0;
  let isTooLong = false;
  return (text) => {
    const lines: (string | undefined)[] = [];
    const pieces = text.split('\n');
    for (const [at, piece] of pieces.entries()) {
      length += piece.length;
      if (!isTooLong) parts.push(piece);
      if (!isTooLong && length > LONGEST) {
        lines.push(undefined);
        [parts, isTooLong] = [[], true];
      }
      if (at === pieces.length - 1) break;
      if (!isTooLong) lines.push(parts.join(''));
      [parts, length, isTooLong] = [[], 0, false];
    }
    return lines;
  };
}

function messageIn(
  line: string,
  refuse: (code: number, message: string, id?: RequestId | null) => void,
): JSONRPCMessage | undefined {
  try {
    return deserializeMessage(line);
  } catch (error) {
    if (error instanceof SyntaxError) refuse(PARSE_ERROR, 'This line is not JSON.');
    else refuse(INVALID_REQUEST, 'This is not a JSON-RPC 2.0 message.', idIn(line));
    return undefined;
  }
}

function idIn(line: string): RequestId | null {
  const { id } = (JSON.parse(line) ?? {}) as { id?: unknown };
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

const LONGEST_LINE = 64 * 1024;
const CUT = ' … (cut)';

/** Calls `onLine` with each line of a stream; a line longer than 64 K characters is cut. Resolves when the stream has closed. */
export function forwardLines(stream: Readable, onLine: (line: string) => void): Promise<void> {
  const splitter = createSplitter(onLine);
  stream.on('data', splitter.write);
  return new Promise((resolve) => {
    stream.once('close', () => {
      splitter.end();
      resolve();
    });
  });
}

/**
 * Whole lines of any length. Rejects with the stream's error. node:readline takes longer to load than most sessions take to answer, and also
 * ends a line at U+2028, which JSON may contain.
 */
export async function* textLines(stream: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const text of stream) {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    yield* lines;
  }
}

function createSplitter(onLine: (line: string) => void): { write(chunk: Buffer): void; end(): void } {
  const decoder = new StringDecoder('utf8');
  let pending = '';
  let cut = false;

  function append(text: string): void {
    const room = LONGEST_LINE - pending.length;
    pending += text.length > room ? text.slice(0, room) : text;
    cut ||= text.length > room;
  }

  function flush(): void {
    const line = pending.endsWith('\r') ? pending.slice(0, -1) : pending;
    onLine(cut ? line + CUT : line);
    pending = '';
    cut = false;
  }

  function take(text: string): void {
    let from = 0;
    for (let to = text.indexOf('\n'); to >= 0; to = text.indexOf('\n', from)) {
      append(text.slice(from, to));
      flush();
      from = to + 1;
    }
    append(text.slice(from));
  }

  return {
    write: (chunk) => take(decoder.write(chunk)),
    end() {
      take(decoder.end());
      if (pending !== '') flush();
    },
  };
}

import { open } from 'node:fs/promises';
import { recordingFiles } from '../../reviews/recording.ts';
import type { KeptLine, KeptOutput } from './kept-output.ts';

/** Reads what is kept of a session's output, and then what was added since the last call. */
export interface OutputReader {
  next(): Promise<KeptLine[]>;
}

/** `tail`: how many of the last lines the first call returns; by default, all. */
export function readOutput({ directory }: Pick<KeptOutput, 'directory'>, tail?: number): OutputReader {
  const { older, newer } = recordingFiles(directory, 'output');
  let at = { file: '', offset: 0 };
  let isFirst = true;

  /** The whole lines of a file after an offset. A line that is being written is read next time. */
  async function read(path: string, offsetIn: (file: string) => number | undefined): Promise<string[]> {
    const handle = await open(path).catch(() => undefined);
    if (handle === undefined) return [];
    await using _ = handle;
    const { ino, birthtimeMs, size } = await handle.stat();
    const file = `${ino} ${birthtimeMs}`;
    const from = offsetIn(file);
    if (from === undefined || size <= from) return [];
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - from), 0, size - from, from);
    const text = buffer.subarray(0, bytesRead);
    const end = text.lastIndexOf('\n') + 1;
    at = { file, offset: from + end };
    return text.subarray(0, end).toString('utf8').split('\n').slice(0, -1);
  }

  return {
    async next() {
      const before = at;
      const inOlder = (file: string): number | undefined =>
        isFirst ? 0 : file === before.file ? before.offset : undefined;
      // The file that was read last may have become the older one.
      const first = await read(older, inOlder);
      const second = await read(newer, (file) => (file === before.file ? before.offset : 0));
      const lines = [...first, ...second];
      const wanted = isFirst && tail !== undefined ? lines.slice(Math.max(0, lines.length - tail)) : lines;
      isFirst &&= lines.length === 0;
      return wanted.flatMap(parsed);
    },
  };
}

/** A line can be cut off if the machine has crashed. */
function parsed(text: string): KeptLine[] {
  try {
    const { at, stream, line } = JSON.parse(text) as Partial<KeptLine>;
    return typeof at === 'number' && typeof line === 'string'
      ? [{ at, stream: stream === 'stdout' ? 'stdout' : 'stderr', line }]
      : [];
  } catch {
    return [];
  }
}

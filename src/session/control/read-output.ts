import { type FileHandle, open } from 'node:fs/promises';
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
  async function read(of: Opened | undefined, from: number): Promise<string[]> {
    if (of === undefined || of.size <= from) return [];
    const { handle, file, size } = of;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - from), 0, size - from, from);
    const text = buffer.subarray(0, bytesRead);
    const end = text.lastIndexOf('\n') + 1;
    at = { file, offset: from + end };
    return text.subarray(0, end).toString('utf8').split('\n').slice(0, -1);
  }

  return {
    async next() {
      const before = at;
      // The newer file can become the older one at any time, so it is opened first: what was read last is then either this one or the older one.
      await using last = await opened(newer);
      const isSame = last?.file === before.file;
      await using other = isSame ? undefined : await opened(older);
      const isUnread = other?.file !== last?.file && (isFirst || other?.file === before.file);
      const first = isUnread ? await read(other, before.offset) : [];
      const second = await read(last, isSame ? before.offset : 0);
      const lines = [...first, ...second];
      const wanted = isFirst && tail !== undefined ? lines.slice(Math.max(0, lines.length - tail)) : lines;
      isFirst &&= lines.length === 0;
      return wanted.flatMap(parsed);
    },
  };
}

interface Opened extends AsyncDisposable {
  handle: FileHandle;
  file: string;
  size: number;
}

async function opened(path: string): Promise<Opened | undefined> {
  const handle = await open(path).catch(() => undefined);
  if (handle === undefined) return undefined;
  const { ino, birthtimeMs, size } = await handle.stat();
  return { handle, file: `${ino} ${birthtimeMs}`, size, [Symbol.asyncDispose]: () => handle.close() };
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

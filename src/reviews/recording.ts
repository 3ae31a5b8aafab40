import { constants, existsSync } from 'node:fs';
import { open, rename, stat } from 'node:fs/promises';

/** Limits for both files of a recording together. */
interface Limits {
  records: number;
  bytes: number;
}

const LIMITS: Limits = { records: 5_000, bytes: 200 * 2 ** 20 };

/** What is recorded of a session. */
export type Recorded = 'reviews' | 'calls' | 'output';

/** Where a session's recordings are kept: two files each, so that the older half can be dropped at once. */
export function recordingFiles(
  directory: string,
  what: Recorded = 'reviews',
): { older: string; newer: string } {
  return { older: `${directory}/${what}.1.ndjson`, newer: `${directory}/${what}.ndjson` };
}

/** A text that differs after each change of a session's recording; undefined when the session has ended. */
export async function recordingVersion(
  directory: string,
  what: Recorded = 'reviews',
): Promise<string | undefined> {
  return await versionOf(directory, Object.values(recordingFiles(directory, what)));
}

/** A text that differs after each change of these files; undefined when `place` is gone. */
export async function versionOf(place: string, files: string[]): Promise<string | undefined> {
  if (!existsSync(place)) return undefined;
  const stats = await Promise.all(files.map((file) => stat(file).catch(() => undefined)));
  return stats.map((one) => `${one?.size} ${one?.mtimeMs}`).join();
}

/** Keeps the newest records of a session on disk, limited in number and bytes. */
export interface Recording {
  add(record: object): void;
  /** Writes what was added. Rejects once, if a write fails; nothing more is written after that. */
  flush(): Promise<void>;
}

export function createRecording(directory: string, what: Recorded = 'reviews', most = LIMITS): Recording {
  const { older, newer } = recordingFiles(directory, what);
  let lines: string[] = [];
  let records = 0;
  let bytes = 0;
  let broken = false;
  let writing = Promise.resolve();

  const write = async (batch: string[]): Promise<void> => {
    if (records + batch.length > most.records / 2 || bytes > most.bytes / 2) {
      await rename(newer, older).catch(ignoreMissing);
      records = 0;
      bytes = 0;
    }
    const text = batch.join('');
    await append(newer, text);
    records += batch.length;
    bytes += Buffer.byteLength(text);
  };
  return {
    add(record) {
      if (!broken) lines.push(`${JSON.stringify(summaryFirst(record))}\n`);
    },
    async flush() {
      const batch = lines;
      lines = [];
      const before = writing;
      writing = (async () => {
        await before.catch(() => undefined);
        if (broken || batch.length === 0) return;
        await write(batch).catch((error) => {
          broken = true;
          throw error;
        });
      })();
      await writing;
    },
  };
}

/** Puts the summary first: most readers need nothing else, and stop at the request. */
function summaryFirst(record: object): object {
  if (!('request' in record)) return record;
  const { request, response, ...summary } = record as { request: unknown; response?: unknown };
  return { ...summary, request, response };
}

/** Never writes through a link that somebody else put there. */
async function append(file: string, text: string): Promise<void> {
  const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW } = constants;
  await using handle = await open(file, O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW, 0o600);
  await handle.writeFile(text);
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}

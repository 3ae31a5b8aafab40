import { open } from 'node:fs/promises';
import { RECORD_VERSION, type ReviewRecord } from './record.ts';
import { recordingFiles } from './recording.ts';

/** What a recording holds, oldest first. */
export interface ReadRecording {
  records: ReviewRecord[];
  /** Lines that are not records of a version that this devloop knows. */
  unread: number;
}

export async function readRecording(directory: string): Promise<ReadRecording> {
  const { older, newer } = recordingFiles(directory);
  const parts = [await readRecords(older), await readRecords(newer)];
  return {
    records: parts.flatMap(({ records }) => records),
    unread: parts.reduce((sum, { unread }) => sum + unread, 0),
  };
}

/** None from a file that does not exist. A last line without its end is being written, or was cut short; it is left out. */
export async function readRecords(file: string): Promise<ReadRecording> {
  const handle = await open(file, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (handle === undefined) return { records: [], unread: 0 };
  await using owned = handle;
  return parseRecords(await owned.readFile('utf8'));
}

export function parseRecords(text: string): ReadRecording {
  const lines = text
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.trim() !== '');
  const parsed = lines.map(parseRecord);
  const records = parsed.filter((record) => record !== undefined);
  return { records, unread: parsed.length - records.length };
}

function parseRecord(line: string): ReviewRecord | undefined {
  try {
    const record = JSON.parse(line) as ReviewRecord;
    const isKnown =
      record.v === RECORD_VERSION && typeof record.id === 'string' && typeof record.ms === 'object';
    return isKnown ? record : undefined;
  } catch {
    return undefined;
  }
}

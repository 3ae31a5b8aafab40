import { open, readFile } from 'node:fs/promises';
import type { LateReview } from '../report/review.ts';
import { type LateRecord, RECORD_VERSION, type ReviewRecord } from './record.ts';
import { recordingFiles } from './recording.ts';

/** What a recording holds, oldest first. */
export interface ReadRecording {
  records: ReviewRecord[];
  /** Of them, those that the controller answered late; and of others, whose record may have been read before. */
  late: LateReview[];
  /** Lines that are not records of a version that this devloop knows. */
  unread: number;
}

/** summaries: without request and response, which are most of a recording. */
export type Wanted = 'records' | 'summaries';

export async function readRecording(directory: string, wanted: Wanted = 'records'): Promise<ReadRecording> {
  const { older, newer } = recordingFiles(directory);
  return parseRecords((await textOf(older)) + (await textOf(newer)), wanted);
}

/** Of a saved set. Editors may leave out the end of the last line. */
export async function readRecords(file: string): Promise<ReadRecording> {
  return parseRecords(`${await readFile(file, 'utf8')}\n`);
}

/** None from a file that does not exist. A last line without its end is being written, or was cut short; it is left out. */
async function textOf(file: string): Promise<string> {
  const handle = await open(file, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (handle === undefined) return '';
  await using owned = handle;
  const text = await owned.readFile('utf8');
  return text.slice(0, text.lastIndexOf('\n') + 1);
}

export function parseRecords(text: string, wanted: Wanted = 'records'): ReadRecording {
  const lines = text
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.trim() !== '');
  const parsed = lines.map((line) => (wanted === 'summaries' ? parseSummary(line) : parseRecord(line)));
  const known = parsed.filter((record) => record !== undefined);
  const records = known.filter((record) => 'ms' in record);
  const byId = new Map(records.map((record) => [record.id, record]));
  const late = known.filter((line): line is LateRecord => !('ms' in line));
  for (const { id, late: answer, lateResponse } of late)
    Object.assign(byId.get(id) ?? {}, { late: answer, lateResponse });
  return {
    records,
    late: late.map(({ id, late: answer }) => ({ id, late: answer })),
    unread: parsed.length - known.length,
  };
}

/** In a line of a recording, the summary comes first. No text in it contains this key, because quotes in texts are escaped. */
function parseSummary(line: string): ReviewRecord | LateRecord | undefined {
  const end = line.indexOf(',"request":');
  const cut = end > 0 && line.endsWith('}') ? parseRecord(`${line.slice(0, end)}}`) : undefined;
  return cut ?? parseRecord(line);
}

function parseRecord(line: string): ReviewRecord | LateRecord | undefined {
  try {
    const record = JSON.parse(line) as ReviewRecord | LateRecord;
    const isKnown = record.v === RECORD_VERSION && typeof record.id === 'string';
    return isKnown && ('ms' in record ? isReview(record) : isObject(record.late)) ? record : undefined;
  } catch {
    return undefined;
  }
}

/** People may edit a saved set. */
function isReview(record: ReviewRecord): boolean {
  const { at, path, webhook, verdict, kind, ms, user, resource, object, request } = record;
  const has = (value: object | undefined, key: string): boolean =>
    value === undefined || (isObject(value) && typeof Reflect.get(value, key) === 'string');
  return (
    [at, path, webhook, verdict, kind].every((one) => typeof one === 'string') &&
    (user === undefined || typeof user === 'string') &&
    has(resource, 'kind') &&
    has(object, 'name') &&
    (request === undefined || kind === 'unreadable' || isObject(request)) &&
    isObject(ms) &&
    [ms.budget, ms.total].every((one) => Number.isFinite(one) && one >= 0)
  );
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

import { readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { LateAnswer, LateReview } from '../report/review.ts';
import { type LateRecord, RECORD_VERSION, type ReviewRecord } from './record.ts';
import { recordingFiles } from './recording.ts';

/** What a recording holds, oldest first. */
export interface ReadRecording {
  records: ReviewRecord[];
  /** Late answers of the controller to these reviews, and to others whose records may have been read before. */
  late: LateReview[];
  /** The number of lines that are not records of a version that this devloop knows. */
  unread: number;
}

/** `summaries`: without requests and responses, which make up most of a recording. */
export type Wanted = 'records' | 'summaries';

export async function readRecording(directory: string, wanted: Wanted = 'records'): Promise<ReadRecording> {
  return parseRecords(textIn(directory), wanted);
}

/** The files change their names only once in thousands of reviews, so this many reads are enough. */
const MOST_READS = 3;

/** Reads again if the session has made the newer file the older one between the two reads: the reviews in that file would be missing. */
function textIn(directory: string): string {
  const { older, newer } = recordingFiles(directory);
  for (let reads = 1; ; reads++) {
    const before = inodeOf(newer);
    const text = textOf(older) + textOf(newer);
    if (inodeOf(newer) === before || reads === MOST_READS) return text;
  }
}

function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino;
}

/** Reads a saved set; a set that was deleted counts as empty. Editors may leave out the end of the last line. */
export async function readRecords(file: string): Promise<ReadRecording> {
  return parseRecords(`${await readFile(file, 'utf8').catch(noneIfMissing)}\n`);
}

/** The text of a file; empty if it does not exist. A last line without its end is being written, or was cut short; it is left out. */
function textOf(file: string): string {
  try {
    const text = readFileSync(file, 'utf8');
    return text.slice(0, text.lastIndexOf('\n') + 1);
  } catch (error) {
    return noneIfMissing(error as NodeJS.ErrnoException);
  }
}

function noneIfMissing(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return '';
  throw error;
}

export function parseRecords(text: string, wanted: Wanted = 'records'): ReadRecording {
  const lines = text.split('\n');
  lines.pop();
  const filled = lines.filter((line) => line.trim() !== '');
  const records: ReviewRecord[] = [];
  const late: LateRecord[] = [];
  let unread = 0;
  for (const record of (wanted === 'summaries' && parseSummaries(filled)) || filled.map(parseRecord)) {
    if (record === undefined) unread++;
    else if ('ms' in record) records.push(record);
    else late.push(record);
  }
  if (late.length > 0) addLate(late, records);
  return { records, late: late.map(({ id, late: answer }) => ({ id, late: answer })), unread };
}

function addLate(late: LateRecord[], records: ReviewRecord[]): void {
  const byId = new Map(records.map((record) => [record.id, record]));
  for (const { id, late: answer, lateResponse } of late)
    Object.assign(byId.get(id) ?? {}, { late: answer, lateResponse });
}

type Parsed = ReviewRecord | LateRecord | undefined;

/**
 * The records in these lines, without requests and responses; undefined if a line is not as devloop writes it. Parses all lines in one
 * call, which takes two thirds of the time of one call per line. A line of a recording begins with the summary; no text in the summary
 * contains `,"request":`, because quotes in texts are escaped.
 */
function parseSummaries(lines: string[]): Parsed[] | undefined {
  if (lines.length === 0 || !lines.every((line) => line.endsWith('}'))) return undefined;
  // Without their last brace, which the join adds again: adding it to each line would make V8 copy each one twice.
  const summaries = lines.map((line) => {
    const end = line.indexOf(',"request":');
    return line.slice(0, end > 0 ? end : -1);
  });
  try {
    const read = JSON.parse(`[${summaries.join('},')}}]`) as unknown[];
    return read.length === lines.length ? read.map(known) : undefined;
  } catch {
    return undefined;
  }
}

function parseRecord(line: string): Parsed {
  try {
    return known(JSON.parse(line));
  } catch {
    return undefined;
  }
}

/** The value as a record; undefined unless it is one of a version that this devloop knows. */
function known(value: unknown): Parsed {
  if (!isObject(value)) return undefined;
  const record = value as ReviewRecord | LateRecord;
  const isKnown = record.v === RECORD_VERSION && typeof record.id === 'string';
  return isKnown && ('ms' in record ? isReview(record) : isLate(record.late)) ? record : undefined;
}

/** Checks the fields of a record, because people may edit a saved set. */
function isReview(record: ReviewRecord): boolean {
  const { kind, resource, object, request, ms, late } = record;
  return (
    isText(record.at) &&
    isText(record.path) &&
    isText(record.webhook) &&
    isText(kind) &&
    isAnswer(record) &&
    isTextOrAbsent(record.user) &&
    isTextOrAbsent(record.build) &&
    isTextOrAbsent(record.package) &&
    areTextsOrAbsent(record.from) &&
    (late === undefined || isLate(late)) &&
    isObjectOrAbsent(record.lateResponse) &&
    (resource === undefined || (isObject(resource) && isText(resource.kind))) &&
    (object === undefined || (isObject(object) && isText(object.name))) &&
    (kind === 'unreadable' || isObjectOrAbsent(request)) &&
    isObject(ms) &&
    isTime(ms.budget) &&
    isTime(ms.total)
  );
}

function isLate(value: unknown): boolean {
  return isObject(value) && isAnswer(value) && isTime((value as LateAnswer).totalMs);
}

function isAnswer(value: object): boolean {
  const { verdict, message, warnings, patch } = value as Partial<LateAnswer>;
  return isText(verdict) && isTextOrAbsent(message) && areTextsOrAbsent(warnings) && areTextsOrAbsent(patch);
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || isText(value);
}

function areTextsOrAbsent(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.every(isText));
}

function isTime(value: unknown): boolean {
  return Number.isFinite(value) && (value as number) >= 0;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isObjectOrAbsent(value: unknown): boolean {
  return value === undefined || isObject(value);
}

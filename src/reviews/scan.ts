import { type FileHandle, open } from 'node:fs/promises';
import { isLater, type LateReview, type ReviewSummary, type ReviewVerdict } from '../report/review.ts';
import { changesBefore, isOfSameObject, wasChangedBy } from './earlier.ts';
import { parseRecords } from './read.ts';
import { RECORD_VERSION, type ReviewRecord, summaryOf } from './record.ts';
import { type Recorded, recordingFiles } from './recording.ts';

const PART_BYTES = 256 * 1024;

/** A part of a recording, oldest first. */
export interface ScannedPart {
  reviews: ReviewSummary[];
  /** Late answers to these and to earlier reviews. */
  late: LateReview[];
}

/**
 * The summaries of a recording after the given id, in parts, so that a session does not keep reviews waiting while it reads its own
 * recording.
 */
export async function* scanSummaries(directory: string, after: string): AsyncGenerator<ScannedPart> {
  let last = after;
  for await (const lines of linesOf(directory)) {
    const { records, late } = parseRecords(lines, 'summaries');
    const reviews = records.filter(({ id }) => isLater(id, last)).map(summaryOf);
    last = reviews.at(-1)?.id ?? last;
    if (reviews.length > 0 || late.length > 0) yield { reviews, late };
  }
}

/** One review of a recording, with its late answer; undefined if it does not exist, or no longer does. Parses no other review. */
export async function findRecord(directory: string, id: string): Promise<ReviewRecord | undefined> {
  const start = `{"v":${RECORD_VERSION},"id":${JSON.stringify(id)},`;
  let found = '';
  for await (const lines of linesOf(directory)) {
    const more = linesWith(start, lines);
    if (more === '') continue;
    found += more;
    const [record] = parseRecords(found).records;
    if (record && (record.late !== undefined || !MAY_BE_LATE.has(record.verdict))) return record;
  }
  return parseRecords(found).records[0];
}

/** The id of the review that left the object as this review got it; undefined if no recorded review did. */
export async function findEarlier(directory: string, record: ReviewRecord): Promise<string | undefined> {
  const ofSame: ReviewSummary[] = [];
  for await (const { reviews } of scanSummaries(directory, '')) {
    ofSame.push(...reviews.filter((one) => isOfSameObject(one, record)));
    const last = reviews.at(-1);
    if (last && !isLater(record.id, last.id)) break;
  }
  for (const { id } of changesBefore(ofSame)) {
    const earlier = await findRecord(directory, id);
    if (earlier && wasChangedBy(earlier, record)) return id;
  }
  return undefined;
}

/** Only a review with one of these verdicts can have another line: the controller may still have answered it. */
const MAY_BE_LATE = new Set<ReviewVerdict>(['answered-by-devloop', 'unanswered']);

/** The lines that begin with `start`; `lines` consists of whole lines. */
function linesWith(start: string, lines: string): string {
  let found = '';
  let at = lines.startsWith(start) ? 0 : lines.indexOf(`\n${start}`) + 1;
  while (at > 0 || lines.startsWith(start, at)) {
    const end = lines.indexOf('\n', at) + 1;
    found += lines.slice(at, end);
    at = lines.startsWith(start, end) ? end : lines.indexOf(`\n${start}`, end) + 1;
    if (at === 0) break;
  }
  return found;
}

/** Whole lines, from the older file and then the newer one. */
export async function* linesOf(directory: string, what: Recorded = 'reviews'): AsyncGenerator<string> {
  const { older, newer } = recordingFiles(directory, what);
  // The files are opened in this order, so that nothing is missed if the newer file becomes the older one in between.
  await using second = await openIfThere(newer);
  await using first = await openIfThere(older);
  if (first) yield* partsOf(first);
  if (second) yield* partsOf(second);
}

async function* partsOf(handle: FileHandle): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  for (let at = 0; ; ) {
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(PART_BYTES), 0, PART_BYTES, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    const part = buffer.subarray(0, bytesRead);
    const end = part.lastIndexOf(0x0a) + 1;
    if (end > 0) yield Buffer.concat([...rest, part.subarray(0, end)]).toString('utf8');
    rest = end > 0 ? [part.subarray(end)] : [...rest, part];
  }
}

function openIfThere(file: string): Promise<FileHandle | undefined> {
  return open(file, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

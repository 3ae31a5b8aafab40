import { isDeepStrictEqual } from 'node:util';
import type { ReviewSection } from '../report/review.ts';
import { objectDiff, type Patched, patched } from './objects.ts';
import { decodePatch, inOrder, type PatchOperation } from './patch.ts';
import { type ReviewRecord, warningTexts } from './record.ts';

/**
 * How an answer differs from an earlier one to the same request; empty if they mean the same. Patches are compared by the object that they
 * produce, warnings as a set, and messages without the parts that change each time.
 */
export function differences(before: ReviewRecord, after: ReviewRecord): ReviewSection[] {
  const [was, is] = [answerOf(before), answerOf(after)];
  return [
    ...changedValue('verdict', was.verdict, is.verdict),
    ...changedValue('code', was.code, is.code),
    ...changedValue('reason', was.reason, is.reason),
    ...changedText('message', [was.message], [is.message]),
    ...changedText('warnings', sortedSet(was.warnings), sortedSet(is.warnings)),
    ...changedObject(was.made, is.made),
  ];
}

/**
 * Whether an answer, apart from its uid, is exactly the recorded one. Most are, and this check takes a tenth of the time of a comparison;
 * if it returns false, the answers may still mean the same. `given`: the `response` of the AdmissionReview as it was answered.
 */
export function isSameAnswer({ response, redacted }: ReviewRecord, given: unknown): boolean {
  if (redacted !== undefined) return false;
  const { uid: _, patch, ...now } = fieldsOf(given);
  const { uid: __, patch: recordedPatch, ...before } = fieldsOf(fieldsOf(response).response);
  return isDeepStrictEqual(before, now) && isSamePatch(recordedPatch, decodePatch(patch));
}

/** If this returns false, the patches may still be the same. */
function isSamePatch(before: unknown, now: PatchOperation[] | undefined): boolean {
  if (isDeepStrictEqual(before, now)) return true;
  return Array.isArray(before) && isDeepStrictEqual(inOrder(before as PatchOperation[]), now);
}

interface Answer {
  verdict: string;
  code: number | undefined;
  reason: string | undefined;
  message: string;
  warnings: string[];
  /** The object that the patch produces, or the converted objects. */
  made: Patched;
}

function answerOf({ verdict, code, message, request, response }: ReviewRecord): Answer {
  const asked = fieldsOf(fieldsOf(request).request);
  const given = fieldsOf(fieldsOf(response).response);
  const status = fieldsOf(given.status ?? given.result);
  const uid = typeof asked.uid === 'string' ? asked.uid : undefined;
  const plain = (text: string): string => stable(uid === undefined ? text : text.replaceAll(uid, '<uid>'));
  return {
    ...{ verdict, code },
    reason: typeof status.reason === 'string' ? status.reason : undefined,
    message: plain(typeof status.message === 'string' ? status.message : (message ?? '')),
    warnings: warningTexts(given.warnings).map(plain),
    made: madeBy(asked, given),
  };
}

function madeBy(asked: Record<string, unknown>, given: Record<string, unknown>): Patched {
  if (Array.isArray(given.convertedObjects)) return { object: given.convertedObjects };
  const { object } = asked;
  if (typeof object !== 'object' || object === null) return { object: null };
  const operations = Array.isArray(given.patch) ? (given.patch as PatchOperation[]) : [];
  return patched(object, operations);
}

/** What differs each time a program writes the same message: times of day, lines of its sources, addresses in its memory. */
const UNSTABLE: [RegExp, string][] = [
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\s?[+-]\d\d:?\d\d)?/g, '<time>'],
  [/\b\d\d:\d\d:\d\d(?:\.\d+)?\b/g, '<time>'],
  [/(\.(?:go|rs|py|ts|js|java|kt|rb|cs)):\d+(?::\d+)?\b/g, '$1:<line>'],
  [/\bline \d+(?:,? col(?:umn)? \d+)?/gi, 'line <line>'],
  [/\b0x[0-9a-f]{6,16}\b/gi, '<address>'],
];

export function stable(text: string): string {
  return UNSTABLE.reduce((result, [pattern, mark]) => result.replaceAll(pattern, mark), text);
}

function changedValue(
  title: string,
  before: string | number | undefined,
  after: string | number | undefined,
): ReviewSection[] {
  return before === after ? [] : [{ title, text: `${before ?? 'none'} -> ${after ?? 'none'}` }];
}

function changedText(title: string, before: string[], after: string[]): ReviewSection[] {
  if (isDeepStrictEqual(before, after)) return [];
  const [was, is] = [new Set(before), new Set(after)];
  const gone = before.filter((one) => one !== '' && !is.has(one)).map((one) => signed('-', one));
  const added = after.filter((one) => one !== '' && !was.has(one)).map((one) => signed('+', one));
  return [{ title, text: [...gone, ...added].join('\n') }];
}

function signed(sign: string, text: string): string {
  return text
    .split('\n')
    .map((line) => `${sign}${line}`)
    .join('\n');
}

function changedObject(before: Patched, after: Patched): ReviewSection[] {
  if (isDeepStrictEqual(before, after)) return [];
  const [was, is] = [before, after].map((one) =>
    'object' in one ? one.object : { 'does not apply': one.failed },
  );
  return [{ title: 'object', text: objectDiff(was, is) }];
}

function sortedSet(texts: string[]): string[] {
  return [...new Set(texts)].sort();
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

import { yaml } from '../reviews/objects.ts';
import { type ReviewRecord, summaryOf } from '../reviews/record.ts';
import {
  answerIn,
  answerOf,
  answerText,
  askedBy,
  conversionOf,
  notKept,
  patchedObject,
} from '../reviews/show.ts';
import type { FieldCause, ReviewDetail, ReviewPart } from './protocol.ts';

/**
 * Returns each part as a whole; the view finds the differences. `earlier`: the review of another webhook that left the object as it is
 * here.
 */
export function detailOf(record: ReviewRecord, earlier?: string): ReviewDetail {
  const { request, size, redacted = 0 } = record;
  const detail = { review: summaryOf(record), redacted, causes: causesIn(record) };
  if (request === undefined) return { ...detail, notKept: notKept(size), parts: [] };
  const parts =
    record.kind === 'conversion' ? convertedParts(request, record) : admissionParts(request, record, earlier);
  return { ...detail, parts: [...parts, ...latePart(record)] };
}

function admissionParts(request: unknown, record: ReviewRecord, earlier: string | undefined): ReviewPart[] {
  const asked = askedBy(request);
  const { object, oldObject, ...rest } = asked;
  const answer = answerIn(record.response);
  return [
    { name: 'request', text: yaml(rest) },
    ...objectPart(asked, earlier),
    ...patchPart(object, answer.patch),
    { name: 'response', text: responseText(answer, record) },
  ];
}

/** Unlike in the terminal, the answer is not shown beside what its patch does, so it has its patch, which is decoded already. */
function responseText(answer: object, record: ReviewRecord): string {
  if (record.response === undefined) return answerText(answer, record);
  const { uid: _, ...given } = answer as Record<string, unknown>;
  return yaml(Object.keys(given).length > 0 ? given : record.response);
}

/** More causes than anybody reads. */
const MOST_CAUSES = 50;

/** The fields that a refusal names, as field.ErrorList of Go does. */
function causesIn({ response }: ReviewRecord): FieldCause[] {
  const { status } = answerIn(response) as { status?: { details?: { causes?: unknown } } };
  const causes = status?.details?.causes;
  if (!Array.isArray(causes)) return [];
  const named = causes.filter((one: unknown) => typeof (one as FieldCause | null)?.field === 'string');
  return named.slice(0, MOST_CAUSES).map(({ field, message }: FieldCause) => ({
    field,
    message: typeof message === 'string' ? message : '',
  }));
}

/** The answer that the controller gave after devloop had answered in its place. */
function latePart({ lateResponse }: ReviewRecord): ReviewPart[] {
  if (lateResponse === undefined) return [];
  return [{ name: 'late', text: yaml(answerOf(answerIn(lateResponse), lateResponse)) }];
}

type Objects = ReturnType<typeof askedBy>;

function objectPart({ object, oldObject }: Objects, earlier: string | undefined): ReviewPart[] {
  const note = earlier === undefined ? {} : { note: `Includes the changes made in review ${earlier}.` };
  if (object && oldObject) return [{ name: 'object', before: yaml(oldObject), text: yaml(object), ...note }];
  if (object) return [{ name: 'object', text: yaml(object), ...note }];
  return oldObject ? [{ name: 'object', text: yaml(oldObject), note: 'The object to be deleted.' }] : [];
}

function patchPart(object: Objects['object'], patch: Parameters<typeof patchedObject>[1]): ReviewPart[] {
  const patched = patchedObject(object, patch);
  if (patched === undefined) return [];
  if ('fault' in patched) return [{ name: 'patch', text: yaml(patch), note: patched.fault }];
  return [{ name: 'patch', before: yaml(object), text: yaml(patched.object) }];
}

/** All objects of a conversion, one after the other, before and after it. */
function convertedParts(request: unknown, record: ReviewRecord): ReviewPart[] {
  const { before, after, asked, answer } = conversionOf(request, record.response);
  const isAnswered = record.response !== undefined;
  return [
    { name: 'request', text: yaml(asked) },
    { name: 'object', ...(isAnswered ? { before, text: after } : { text: before }) },
    { name: 'response', text: isAnswered ? yaml(answer) : answerText(answer, record) },
  ];
}

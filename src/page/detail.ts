import { yaml } from '../reviews/objects.ts';
import { type ReviewRecord, summaryOf } from '../reviews/record.ts';
import { answerIn, answerOf, askedBy, conversionOf, notKept, patchedObject } from '../reviews/show.ts';
import type { ReviewDetail, ReviewPart } from './protocol.ts';

/** Returns each part as a whole; the view finds the differences. */
export function detailOf(record: ReviewRecord): ReviewDetail {
  const { request, response, size, redacted = 0 } = record;
  const detail = { review: summaryOf(record), redacted };
  if (request === undefined || response === undefined)
    return { ...detail, notKept: notKept(size), parts: [] };
  const parts =
    record.kind === 'conversion' ? convertedParts(request, response) : admissionParts(request, response);
  return { ...detail, parts: [...parts, ...latePart(record)] };
}

function admissionParts(request: unknown, response: unknown): ReviewPart[] {
  const asked = askedBy(request);
  const { object, oldObject, ...rest } = asked;
  const answer = answerIn(response);
  return [
    { name: 'request', text: yaml(rest) },
    ...objectPart(object, oldObject),
    ...patchPart(object, answer.patch),
    { name: 'response', text: yaml(answerOf(answer, response)) },
  ];
}

/** The answer that the controller gave after devloop had answered in its place. */
function latePart({ lateResponse }: ReviewRecord): ReviewPart[] {
  if (lateResponse === undefined) return [];
  return [{ name: 'late', text: yaml(answerOf(answerIn(lateResponse), lateResponse)) }];
}

type Objects = ReturnType<typeof askedBy>;

function objectPart(object: Objects['object'], oldObject: Objects['oldObject']): ReviewPart[] {
  if (object && oldObject) return [{ name: 'object', before: yaml(oldObject), text: yaml(object) }];
  if (object) return [{ name: 'object', text: yaml(object) }];
  return oldObject
    ? [{ name: 'object', text: yaml(oldObject), note: 'The object that is to be deleted.' }]
    : [];
}

function patchPart(object: Objects['object'], patch: Parameters<typeof patchedObject>[1]): ReviewPart[] {
  const patched = patchedObject(object, patch);
  if (patched === undefined) return [];
  if ('fault' in patched) return [{ name: 'patch', text: yaml(patch), note: patched.fault }];
  return [{ name: 'patch', before: yaml(object), text: yaml(patched.object) }];
}

/** All objects of a conversion, one after the other, before and after it. */
function convertedParts(request: unknown, response: unknown): ReviewPart[] {
  const { before, after, asked, answer } = conversionOf(request, response);
  return [
    { name: 'request', text: yaml(asked) },
    { name: 'object', before, text: after },
    { name: 'response', text: yaml(answer) },
  ];
}

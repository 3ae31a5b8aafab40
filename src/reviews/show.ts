import type { ReviewSection } from '../report/review.ts';
import { objectDiff, patched, textDiff, yaml } from './objects.ts';
import type { PatchOperation } from './patch.ts';
import type { ReviewRecord } from './record.ts';

/**
 * The parts of a review that people want to see: the object, what was changed in it before, and what the webhook did. `earlier`: the review
 * of another webhook that left the object as it is here.
 */
export function sectionsOf({ lateResponse, ...record }: ReviewRecord, earlier?: string): ReviewSection[] {
  if (lateResponse === undefined) return ownSections(record, earlier);
  const late = (lateResponse as { response?: AdmissionResponse }).response ?? {};
  return [
    ...ownSections(record, earlier),
    { title: 'what the controller answered later', text: yaml(answerOf(late, lateResponse)) },
  ];
}

function ownSections(record: ReviewRecord, earlier: string | undefined): ReviewSection[] {
  const { kind, request, response, size } = record;
  if (request === undefined) return [{ title: 'review', text: notKept(size) }];
  if (kind === 'conversion') return convertedSections(request, record);
  const { object, oldObject } = askedBy(request);
  const answer = answerIn(response);
  const current = object ?? oldObject;
  const change = patchedText(object, answer.patch);
  const by = earlier === undefined ? 'the client' : `the client and in review ${earlier}`;
  const title = earlier === undefined ? 'object' : `object, with the changes of review ${earlier}`;
  return [
    ...(current ? [{ title: object ? title : 'old object', text: yaml(current) }] : []),
    ...(object && oldObject ? [{ title: `changed by ${by}`, text: objectDiff(oldObject, object) }] : []),
    ...(change === undefined ? [] : [{ title: 'changed by the webhook', text: change }]),
    { title: 'answer', text: answerText(answer, record) },
  ];
}

function convertedSections(request: unknown, record: ReviewRecord): ReviewSection[] {
  const { before, after, answer } = conversionOf(request, record.response);
  return [
    { title: 'objects', text: before },
    ...(after === ''
      ? []
      : [
          { title: 'converted objects', text: after },
          { title: 'changed by the webhook', text: textDiff(before, after) },
        ]),
    { title: 'answer', text: answerText(answer, record) },
  ];
}

/** `answer`: the part of the response that is shown. If there was no response, the message of the review shows what came in its place. */
export function answerText(answer: object, { response, verdict, size }: ReviewRecord): string {
  if (response !== undefined) return yaml(answerOf(answer, response));
  return verdict === 'unanswered' ? 'none' : notKept(size);
}

/**
 * The objects of a conversion as YAML documents, before and after it, and the rest of the request and the answer. An empty text means that
 * there are no objects.
 */
export function conversionOf(
  request: unknown,
  response: unknown,
): { before: string; after: string; asked: object; answer: object } {
  const { objects, ...asked } = askedBy(request) as { objects?: unknown };
  const { convertedObjects, ...answer } = answerIn(response) as { convertedObjects?: unknown };
  const documents = (list: unknown): string => (Array.isArray(list) ? list.map(yaml).join('\n---\n') : '');
  return { before: documents(objects), after: documents(convertedObjects), asked, answer };
}

export function notKept(size: ReviewRecord['size']): string {
  return size
    ? `not kept: the request has ${size.request} bytes and the answer ${size.response}`
    : 'not kept: it is not JSON';
}

interface AdmissionRequest {
  object?: object | null;
  oldObject?: object | null;
}

interface AdmissionResponse {
  patch?: PatchOperation[];
}

export function askedBy(request: unknown): AdmissionRequest {
  return (request as { request?: AdmissionRequest } | null)?.request ?? {};
}

export function answerIn(response: unknown): AdmissionResponse {
  return (response as { response?: AdmissionResponse } | null)?.response ?? {};
}

/** The object as the patch leaves it, or why the patch does not apply; undefined if there is no object or no patch. */
export function patchedObject(
  object: object | null | undefined,
  patch: PatchOperation[] | undefined,
): { object: object } | { fault: string } | undefined {
  if (!object || typeof object !== 'object' || !Array.isArray(patch) || patch.length === 0) return undefined;
  const made = patched(object, patch);
  return 'object' in made
    ? { object: made.object as object }
    : { fault: `the patch does not apply: ${made.failed}` };
}

/** What the patch does to the object; if it does not apply, the list of its operations. */
function patchedText(
  object: object | null | undefined,
  patch: PatchOperation[] | undefined,
): string | undefined {
  const made = patchedObject(object, patch);
  if (made === undefined) return undefined;
  return 'fault' in made ? `${made.fault}\n${yaml(patch)}` : objectDiff(object!, made.object);
}

/** The answer without the patch, whose effect is shown instead, and without `uid` and `patchType`, which are of no interest. */
export function answerOf({ patch: _, ...answer }: AdmissionResponse & object, response: unknown): unknown {
  const { uid: __, patchType: ___, ...rest } = answer as Record<string, unknown>;
  return Object.keys(rest).length > 0 ? rest : response;
}

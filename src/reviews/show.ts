import { createTwoFilesPatch } from 'diff';
import { applyPatch } from 'rfc6902';
import { stringify } from 'yaml';
import type { ReviewSection } from '../report/events.ts';
import type { PatchOperation } from './patch.ts';
import type { ReviewRecord } from './record.ts';

/** What a person wants to see of a review: the object, what the client changed in it, and what the webhook did. */
export function sectionsOf({ request, response, size }: ReviewRecord): ReviewSection[] {
  if (request === undefined || response === undefined) return [{ title: 'review', text: notKept(size) }];
  const { object, oldObject } = askedBy(request);
  const answer = answerIn(response);
  const current = object ?? oldObject;
  const patched = patchedText(object, answer.patch);
  return [
    ...(current ? [{ title: object ? 'object' : 'old object', text: yaml(current) }] : []),
    ...(object && oldObject ? [{ title: 'changed by the client', text: diff(oldObject, object) }] : []),
    ...(patched === undefined ? [] : [{ title: 'changed by the webhook', text: patched }]),
    { title: 'answer', text: yaml(answerOf(answer, response)) },
  ];
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
  return (request as { request?: AdmissionRequest }).request ?? {};
}

export function answerIn(response: unknown): AdmissionResponse {
  return (response as { response?: AdmissionResponse }).response ?? {};
}

/** The object as the patch leaves it, or why the patch does not apply; undefined where there is none. */
export function patchedObject(
  object: object | null | undefined,
  patch: PatchOperation[] | undefined,
): { object: object } | { fault: string } | undefined {
  if (!object || !Array.isArray(patch) || patch.length === 0) return undefined;
  const copy = structuredClone(object);
  // A redacted value is another than the one that the webhook saw, so a `test` of it could fail.
  const changes = patch.filter(({ op }) => op !== 'test');
  const [failed] = applyPatch(copy, changes as Parameters<typeof applyPatch>[1]).filter(
    (error) => error !== null,
  );
  return failed ? { fault: `the patch does not apply: ${failed.message}` } : { object: copy };
}

/** The patch as what it does to the object; as the list of its operations where it does not apply. */
function patchedText(
  object: object | null | undefined,
  patch: PatchOperation[] | undefined,
): string | undefined {
  const patched = patchedObject(object, patch);
  if (patched === undefined) return undefined;
  return 'fault' in patched ? `${patched.fault}\n${yaml(patch)}` : diff(object!, patched.object);
}

/** Without the patch, which is shown applied, and without what says nothing. */
export function answerOf({ patch: _, ...answer }: AdmissionResponse & object, response: unknown): unknown {
  const { uid: __, patchType: ___, ...rest } = answer as Record<string, unknown>;
  return Object.keys(rest).length > 0 ? rest : response;
}

/** Only the lines that differ, with three lines around each. */
function diff(before: object, after: object): string {
  const [, , , , ...lines] = createTwoFilesPatch('', '', yaml(before), yaml(after), '', '', {
    context: 3,
  }).split('\n');
  const text = lines
    .filter((line) => !line.startsWith('\\'))
    .join('\n')
    .trimEnd();
  return text === '' ? 'nothing' : text;
}

/** Without managedFields, which nobody reads. */
export function yaml(value: unknown): string {
  return stringify(value, (key, item) => (key === 'managedFields' ? undefined : item), {
    lineWidth: 0,
  }).trimEnd();
}

import { createTwoFilesPatch } from 'diff';
import { applyPatch } from 'rfc6902';
import { stringify } from 'yaml';
import { messageOf } from '../errors.ts';
import { type PatchOperation, valueAt } from './patch.ts';

/** An object after a patch; or why the patch does not apply, with its operations. */
export type Patched = { object: unknown } | { failed: string; operations: PatchOperation[] };

/** What the `copy` operations of a patch may add, in characters of JSON: thirty of them can make a billion fields of one. */
const MOST_COPIED = 256 * 1024;

/** Applies a patch as kube-apiserver does. The given object is not changed. */
export function patched(object: object, operations: PatchOperation[]): Patched {
  const copy = { root: structuredClone(object) };
  let copied = 0;
  try {
    for (const operation of rootedAt(operations)) {
      if (operation.op === 'copy') copied += lengthOf(valueAt(copy, operation.from ?? ''));
      if (copied > MOST_COPIED) return { failed: 'it copies too much to be shown', operations };
      const [failed] = applyPatch(copy, [operation] as Parameters<typeof applyPatch>[1]);
      if (failed) return { failed: failed.message, operations };
    }
    return { object: copy.root };
  } catch (error) {
    // The operations are malformed: somebody edited a saved set.
    return { failed: messageOf(error), operations };
  }
}

/** Moves all paths below `/root`: an operation on the whole object has an empty path, which the library refuses. */
function rootedAt(operations: PatchOperation[]): PatchOperation[] {
  // A redacted value differs from what the webhook saw, so a `test` of it could fail.
  const changes = operations.filter(({ op }) => op !== 'test');
  return changes.map((one) => ({
    ...one,
    path: `/root${one.path}`,
    ...(one.from === undefined ? {} : { from: `/root${one.from}` }),
  }));
}

function lengthOf(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}

/** The lines that differ between two objects as YAML, with three lines around each. */
export function objectDiff(before: unknown, after: unknown): string {
  return textDiff(yaml(before), yaml(after));
}

/** The time for a comparison grows with the square of the number of lines that differ, and nobody reads more than these. */
const MOST_EDITS = 2_000;

/** Like `objectDiff`, for texts whose last line has no line feed. */
export function textDiff(before: string, after: string): string {
  const texts = [`${before}\n`, `${after}\n`] as const;
  const options = { context: 3, maxEditLength: MOST_EDITS };
  const patch = createTwoFilesPatch('', '', ...texts, '', '', options);
  if (patch === undefined) return `more than ${MOST_EDITS} lines, which are too many to be compared`;
  const [, , , , ...lines] = patch.split('\n');
  const text = lines
    .filter((line) => !line.startsWith('\\'))
    .join('\n')
    .trimEnd();
  return text === '' ? 'nothing' : text;
}

/** A text of more lines is JSON, which is YAML as well: laying out YAML takes twenty times as long. */
const MOST_LINES = 10_000;

/** The value as YAML, without managedFields, which nobody reads. */
export function yaml(value: unknown): string {
  const json = JSON.stringify(value, withoutManagedFields, 2) ?? '';
  let lines = 1;
  for (let at = json.indexOf('\n'); at >= 0; at = json.indexOf('\n', at + 1)) lines += 1;
  if (lines > MOST_LINES) return json;
  return stringify(value, withoutManagedFields, { lineWidth: 0 }).trimEnd();
}

function withoutManagedFields(key: unknown, item: unknown): unknown {
  return key === 'managedFields' ? undefined : item;
}

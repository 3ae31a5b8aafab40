import { createTwoFilesPatch } from 'diff';
import { applyPatch } from 'rfc6902';
import { stringify } from 'yaml';
import { messageOf } from '../errors.ts';
import type { PatchOperation } from './patch.ts';

/** An object after a patch; or why the patch does not apply, with its operations. */
export type Patched = { object: unknown } | { failed: string; operations: PatchOperation[] };

/** Applies a patch as kube-apiserver does. The given object is not changed. */
export function patched(object: object, operations: PatchOperation[]): Patched {
  const copy = { root: structuredClone(object) };
  try {
    const [failed] = applyPatch(copy, rootedAt(operations)).filter((one) => one !== null);
    return failed ? { failed: failed.message, operations } : { object: copy.root };
  } catch (error) {
    // The operations are malformed: somebody edited a saved set.
    return { failed: messageOf(error), operations };
  }
}

/** Moves all paths below `/root`: an operation on the whole object has an empty path, which the library refuses. */
function rootedAt(operations: PatchOperation[]): Parameters<typeof applyPatch>[1] {
  // A redacted value differs from what the webhook saw, so a `test` of it could fail.
  const changes = operations.filter(({ op }) => op !== 'test');
  return changes.map((one) => ({
    ...one,
    path: `/root${one.path}`,
    ...(one.from === undefined ? {} : { from: `/root${one.from}` }),
  })) as Parameters<typeof applyPatch>[1];
}

/** The lines that differ between two objects as YAML, with three lines around each. */
export function objectDiff(before: unknown, after: unknown): string {
  return textDiff(yaml(before), yaml(after));
}

/** Like `objectDiff`, for texts whose last line has no line feed. */
export function textDiff(before: string, after: string): string {
  const texts = [`${before}\n`, `${after}\n`] as const;
  const [, , , , ...lines] = createTwoFilesPatch('', '', ...texts, '', '', { context: 3 }).split('\n');
  const text = lines
    .filter((line) => !line.startsWith('\\'))
    .join('\n')
    .trimEnd();
  return text === '' ? 'nothing' : text;
}

/** The value as YAML, without managedFields, which nobody reads. */
export function yaml(value: unknown): string {
  return stringify(value, (key, item) => (key === 'managedFields' ? undefined : item), {
    lineWidth: 0,
  }).trimEnd();
}

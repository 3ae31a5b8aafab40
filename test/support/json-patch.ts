import type { PatchOperation } from '../../src/cluster/marks/marks.ts';

/** A patch that cannot be applied. The API server answers it with 422. */
export class PatchFailed extends Error {}

type Container = Record<string, unknown> | unknown[];

/** RFC 6902, as strict as the API server: the parent must exist, and so must what is removed, replaced or tested. */
export function applyJsonPatch<T>(document: T, patch: PatchOperation[]): T {
  const copy = structuredClone(document);
  for (const operation of patch) applyOne(copy as Container, operation);
  return copy;
}

function applyOne(root: Container, { op, path, value }: PatchOperation): void {
  const tokens = path.split('/').slice(1).map(unescapeToken);
  const last = tokens.pop();
  if (last === undefined) throw new PatchFailed(`${op} of the whole document`);
  const parent = tokens.reduce<Container>((at, token) => child(at, token, path), root);
  const present = Object.hasOwn(parent, last);
  if (op !== 'add' && !present) throw new PatchFailed(`${op} ${path}: no such member`);
  if (op === 'test') {
    if (JSON.stringify(Reflect.get(parent, last)) !== JSON.stringify(value))
      throw new PatchFailed(`test ${path} failed`);
  } else if (op === 'remove') Reflect.deleteProperty(parent, last);
  else
    Object.defineProperty(parent, last, {
      value: structuredClone(value),
      writable: true,
      enumerable: true,
      configurable: true,
    });
}

function child(at: Container, token: string, path: string): Container {
  const next: unknown = Object.hasOwn(at, token) ? Reflect.get(at, token) : undefined;
  if (next === null || typeof next !== 'object') throw new PatchFailed(`${path}: ${token} is not there`);
  return next as Container;
}

/** In the other order, `~0` before `~1`, `~01` would become `/`. */
function unescapeToken(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

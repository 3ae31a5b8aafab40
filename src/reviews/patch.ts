import type { Change } from '../operator/pruned.ts';

/** One operation of a JSON patch (RFC 6902), as a webhook returns it. */
export interface PatchOperation {
  op: string;
  path: string;
  value?: unknown;
  from?: string;
}

const SIGNS: Record<string, string> = { add: '+', replace: '~', remove: '-', move: '>', copy: '>' };
const LONGEST_VALUE = 24;

/**
 * A patch in a few words, one word for each operation: `+spec.replicas=1`, `~spec.image`, `-spec.old`. `test` changes nothing and is left
 * out.
 */
export function patchWords(operations: PatchOperation[]): string[] {
  return operations.flatMap(({ op, path, value }) => {
    const sign = SIGNS[op];
    return sign === undefined ? [] : [`${sign}${fieldOf(path)}${valueText(op, value)}`];
  });
}

/** The path of a field: `metadata.annotations[a/b]` for `/metadata/annotations/a~1b`, `spec.ports[0]` for `/spec/ports/0`. */
export function fieldOf(pointer: string): string {
  return tokensOf(pointer).reduce((path, token) => {
    if (!/^[A-Za-z_][\w-]*$/.test(token)) return `${path}[${token}]`;
    return path === '' ? token : `${path}.${token}`;
  }, '');
}

/** No object of Kubernetes is nested this deeply. */
const MOST_LEVELS = 200;

/** What a patch changes, without what its later operations overwrite or remove again. */
export function changesOf(operations: PatchOperation[]): Change[] {
  const writes = operations.filter(({ op }) => op !== 'test');
  const lastWrite = new Map<string, number>();
  writes.forEach(({ op, path, from }, index) => {
    lastWrite.set(path, index);
    if (op === 'move' && from !== undefined) lastWrite.set(from, index);
  });
  const isOverwritten = (tokens: string[], index: number): boolean => {
    let path = '';
    return ['', ...tokens].some((token, level) => {
      if (level > 0) path += `/${token}`;
      return (lastWrite.get(path) ?? -1) > index;
    });
  };
  return writes.flatMap(({ op, path, value }, index) => {
    const tokens = path.split('/', MOST_LEVELS + 2).slice(1);
    if (op === 'remove' || tokens.length > MOST_LEVELS || isOverwritten(tokens, index)) return [];
    return [{ tokens: tokensOf(path), value }];
  });
}

/** The value at a JSON pointer; undefined if there is none. */
export function valueAt(object: unknown, pointer: string): unknown {
  return tokensOf(pointer).reduce<unknown>(
    (value, token) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, token)
        ? Reflect.get(value, token)
        : undefined,
    object,
  );
}

/** A key as a token of a JSON pointer. */
export function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** The parts of a JSON pointer. */
export function tokensOf(pointer: string): string[] {
  const tokens = pointer.split('/').slice(1);
  return pointer.includes('~')
    ? tokens.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
    : tokens;
}

function valueText(op: string, value: unknown): string {
  if (op !== 'add' && op !== 'replace') return '';
  if (value === undefined || (typeof value === 'object' && value !== null)) return '';
  const text = String(value);
  return text === '' || text.length > LONGEST_VALUE ? '' : `=${text}`;
}

/**
 * Sorts operations by their paths if they do not depend on each other: Go prints maps in any order, and the same patch has to look the same
 * each time. Other patches stay as they are.
 */
export function inOrder(operations: PatchOperation[]): PatchOperation[] {
  if (!areIndependent(operations)) return operations;
  return operations.toSorted((one, other) => (one.path < other.path ? -1 : 1));
}

/** Whether each operation is on a field of its own, and none is in a list. */
function areIndependent(operations: PatchOperation[]): boolean {
  // In this order, a path is directly followed by the paths below it.
  const paths = operations.map(({ path }) => `${path}/`).sort();
  return (
    operations.every(({ op, path }) => FIELD_OPERATIONS.has(op) && !/\/(?:\d+|-)(?:\/|$)/.test(path)) &&
    paths.every((path, at) => !paths[at + 1]?.startsWith(path))
  );
}

const FIELD_OPERATIONS = new Set(['add', 'replace', 'remove']);

/** The operations in a response's `patch`, sorted by `inOrder`; undefined if there is no patch, or if it cannot be read. */
export function decodePatch(patch: unknown): PatchOperation[] | undefined {
  if (typeof patch !== 'string' || patch === '') return undefined;
  try {
    const operations: unknown = JSON.parse(Buffer.from(patch, 'base64').toString('utf8'));
    return Array.isArray(operations) && operations.every(isOperation) ? inOrder(operations) : undefined;
  } catch {
    return undefined;
  }
}

function isOperation(value: unknown): value is PatchOperation {
  const { op, path } = (value ?? {}) as Partial<PatchOperation>;
  return typeof op === 'string' && typeof path === 'string';
}

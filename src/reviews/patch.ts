/** One operation of a JSON patch (RFC 6902), as a webhook answers it. */
export interface PatchOperation {
  op: string;
  path: string;
  value?: unknown;
  from?: string;
}

const SIGNS: Record<string, string> = { add: '+', replace: '~', remove: '-', move: '>', copy: '>' };
const LONGEST_VALUE = 24;

/** A patch in a few words, an operation each: `+spec.replicas=1`, `~spec.image`, `-spec.old`. `test` changes nothing and is left out. */
export function patchWords(operations: PatchOperation[]): string[] {
  return operations.flatMap(({ op, path, value }) => {
    const sign = SIGNS[op];
    return sign === undefined ? [] : [`${sign}${fieldOf(path)}${valueText(op, value)}`];
  });
}

/** `/metadata/annotations/a~1b` as `metadata.annotations[a/b]`, `/spec/ports/0` as `spec.ports[0]`. */
export function fieldOf(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, token) => {
      if (!/^[A-Za-z_][\w-]*$/.test(token)) return `${path}[${token}]`;
      return path === '' ? token : `${path}.${token}`;
    }, '');
}

function valueText(op: string, value: unknown): string {
  if (op !== 'add' && op !== 'replace') return '';
  if (typeof value === 'object' && value !== null) return '';
  const text = String(value);
  return text === '' || text.length > LONGEST_VALUE ? '' : `=${text}`;
}

/**
 * Operations that do not depend on each other, by their paths: Go prints maps in any order, and the same patch is to look the same each
 * time. All others as they are.
 */
export function inOrder(operations: PatchOperation[]): PatchOperation[] {
  if (!areIndependent(operations)) return operations;
  return operations.toSorted((one, other) => (one.path < other.path ? -1 : 1));
}

/** Whether each is on a field of its own, and none is in a list. */
function areIndependent(operations: PatchOperation[]): boolean {
  // What is below a path follows it at once in this order.
  const paths = operations.map(({ path }) => `${path}/`).sort();
  return (
    operations.every(({ op, path }) => FIELD_OPERATIONS.has(op) && !/\/(?:\d+|-)(?:\/|$)/.test(path)) &&
    paths.every((path, at) => !paths[at + 1]?.startsWith(path))
  );
}

const FIELD_OPERATIONS = new Set(['add', 'replace', 'remove']);

/** The operations in a response's `patch`, in order; undefined where it has none, or one that nobody can read. */
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

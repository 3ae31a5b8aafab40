/** Who set which field, as the API server records it, and how `kubectl apply --server-side` uses that. */
import type { Json, KubeObject, ManagedFields } from '../../src/cluster/api/objects.ts';
import { same } from '../../src/cluster/marks/marks.ts';
import { valueAt } from '../../src/cluster/marks/paths.ts';

type Path = string[];
type Owners = ManagedFields[];

/** The fields that the API server sets itself. */
const UNTRACKED = new Set([
  'apiVersion',
  'kind',
  'status',
  ...['name', 'namespace', 'uid', 'resourceVersion', 'generation', 'managedFields'].map(
    (key) => `metadata.${key}`,
  ),
]);
/** A value that is owned as a whole. */
const ATOMIC = new Set(['spec.selector']);

/** An `Update`: its writer owns what it changed, and nobody else owns that any longer. */
export function ownersAfterUpdate(
  before: KubeObject | undefined,
  object: KubeObject,
  owners: Owners = [],
  manager: string,
): Owners {
  const changed = changedPaths(before, object);
  if (changed.length === 0) return sorted(owners);
  const others = owners.map((one) => without(one, changed));
  const set = changed.filter((path) => valueAt(object, path) !== undefined);
  return sorted(added(others, { manager, operation: 'Update' }, set));
}

/** The other owners of fields that the manifest would change. */
export function conflictsOf(object: KubeObject, manifest: object, manager: string): string[] {
  const differing = leaves(manifest).filter((path) => !isEqual(object, manifest, path));
  const others = (object.metadata.managedFields ?? []).filter((one) => !isAppliedBy(one, manager));
  return differing.flatMap((path) =>
    others
      .filter((one) => pathsOf(one.fieldsV1).some((owned) => equal(owned, path)))
      .map((one) => `${path.join('.')}: ${one.manager}`),
  );
}

/** The object after a server-side apply that met no conflict, or was forced. */
export function applied<T extends KubeObject>(object: T, manifest: object, manager: string): T {
  const owners = object.metadata.managedFields ?? [];
  const wanted = leaves(manifest);
  const mine = owners.filter((one) => isAppliedBy(one, manager)).flatMap((one) => pathsOf(one.fieldsV1));
  const others = owners.filter((one) => !isAppliedBy(one, manager));
  const isElsewhere = (path: Path): boolean =>
    others.some((one) => pathsOf(one.fieldsV1).some((owned) => equal(owned, path)));
  const next = structuredClone(object);
  for (const path of mine)
    if (!wanted.some((one) => equal(one, path)) && !isElsewhere(path)) put(next, path, undefined);
  for (const path of wanted) put(next, path, valueAt(manifest, path));
  const changed = changedPaths(object, next);
  const left = others.map((one) => without(one, changed));
  next.metadata.managedFields = sorted(added(left, { manager, operation: 'Apply' }, wanted));
  return next;
}

function isAppliedBy(one: ManagedFields, manager: string): boolean {
  return one.manager === manager && one.operation === 'Apply';
}

function put(object: object, path: Path, value: Json | undefined): void {
  let at = object as Record<string, unknown>;
  for (const key of path.slice(0, -1)) {
    at[key] ??= {};
    at = at[key] as Record<string, unknown>;
  }
  if (value === undefined) delete at[path.at(-1)!];
  else at[path.at(-1)!] = structuredClone(value);
}

function changedPaths(before: KubeObject | undefined, object: KubeObject): Path[] {
  const all = [...leaves(object), ...leaves(before ?? {})];
  const unique = [...new Map(all.map((path) => [JSON.stringify(path), path])).values()];
  return unique.filter((path) => !isEqual(before, object, path));
}

function isEqual(a: unknown, b: unknown, path: Path): boolean {
  return same(valueAt(a, path), valueAt(b, path));
}

function leaves(value: unknown, at: Path = []): Path[] {
  const name = at.join('.');
  if (UNTRACKED.has(name)) return [];
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value) && !ATOMIC.has(name);
  if (!isMap) return value === undefined ? [] : [at];
  return Object.entries(value).flatMap(([key, below]) => leaves(below, [...at, key]));
}

function equal(a: Path, b: Path): boolean {
  return a.length === b.length && a.every((key, index) => key === b[index]);
}

function without(owner: ManagedFields, paths: Path[]): ManagedFields {
  const left = pathsOf(owner.fieldsV1).filter((path) => !paths.some((one) => equal(one, path)));
  return { ...owner, fieldsV1: treeOf(left) };
}

function added(owners: Owners, by: Pick<ManagedFields, 'manager' | 'operation'>, paths: Path[]): Owners {
  const isIts = (one: ManagedFields): boolean => one.manager === by.manager && one.operation === by.operation;
  const own = by.operation === 'Apply' ? [] : owners.filter(isIts).flatMap((one) => pathsOf(one.fieldsV1));
  const time = `${new Date().toISOString().slice(0, 19)}Z`;
  const known = { apiVersion: 'v1', time, fieldsType: 'FieldsV1' } as const;
  const its = { ...by, ...known, fieldsV1: treeOf([...own, ...paths]) };
  return [...owners.filter((one) => !isIts(one)), its].filter(({ fieldsV1 }) => pathsOf(fieldsV1).length > 0);
}

/** As the API server does it. */
function sorted(owners: Owners): Owners {
  const key = ({ operation, time = '', manager }: ManagedFields): string => `${operation} ${time} ${manager}`;
  return owners.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

function pathsOf(tree: unknown, at: Path = []): Path[] {
  const entries = Object.entries(tree ?? {});
  if (entries.length === 0) return at.length === 0 ? [] : [at];
  return entries.flatMap(([key, below]) => pathsOf(below, [...at, key.slice('f:'.length)]));
}

function treeOf(paths: Path[]): Record<string, unknown> {
  const tree: Record<string, unknown> = {};
  for (const path of paths) {
    let at = tree;
    for (const key of path) {
      at[`f:${key}`] ??= {};
      at = at[`f:${key}`] as Record<string, unknown>;
    }
  }
  return tree;
}

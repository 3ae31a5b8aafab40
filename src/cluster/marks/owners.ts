/** Who owns the fields of an object according to its managedFields, and who owns them again after a session. */
import { createHash } from 'node:crypto';
import { USER_AGENT } from '../api/login.ts';
import type { KubeObject, ManagedFields } from '../api/objects.ts';

/** If a writer sends no field manager, kube-apiserver uses its user agent as the name. */
export const OWN_MANAGER = USER_AGENT;

const CONTROLLERS = 'kube-controller-manager';

/** An owner of a field, as its entry of managedFields names it. */
export interface Owner {
  manager: string;
  operation: string;
  apiVersion?: string;
  subresource?: string;
  /** When this owner last wrote; a write to the subresource `scale` has no time. */
  time?: string;
}

type Tree = Record<string, unknown>;

/** All owners of a field except devloop. There can be several, since server-side appliers of the same value share a field. */
export function ownersOf(object: KubeObject, path: string[]): Owner[] {
  return othersIn(object)
    .filter((one) => partOf(one.fieldsV1, path) !== undefined)
    .map(ownerIn);
}

/** Whether devloop was the last to set a field: the API server can store a list in another order than it was sent. */
export function isOnlyOurs(object: KubeObject, path: string[]): boolean {
  const isOwned = entriesOf(object).some((one) => isOwn(one) && partOf(one.fieldsV1, path) !== undefined);
  return isOwned && ownersOf(object, path).length === 0;
}

/** Whether anybody but devloop and Kubernetes' controllers owns a part of the object. */
export function isPartlyOfUsers(object: KubeObject): boolean {
  return othersIn(object).some(({ manager }) => manager !== CONTROLLERS);
}

/** The owners in the object's managedFields that have one of these ids. */
export function ownersWithIds(object: KubeObject, ids: string[]): Owner[] {
  return othersIn(object)
    .map(ownerIn)
    .filter((owner) => ids.includes(ownerId(owner)));
}

/** Names an owner, and the time of its last write, in a few characters. Anybody can write an id, but it only selects among real owners. */
export function ownerId({ manager, operation, apiVersion, subresource, time }: Owner): string {
  const owner = JSON.stringify([manager, operation, apiVersion, subresource, time]);
  return createHash('sha256').update(owner).digest('hex').slice(0, 8);
}

/** The part of an owner's field tree that contains this field; undefined if the owner does not own the field. */
export function partOf(fields: unknown, [key, ...rest]: string[]): Tree | undefined {
  if (!isTree(fields)) return undefined;
  if (key === undefined) return fields;
  const name = [`f:${key}`, `k:${JSON.stringify({ name: key })}`].find((one) => Object.hasOwn(fields, one));
  if (name === undefined) return undefined;
  const below = fields[name];
  // Below an atomic map (a selector), there are no further entries.
  const part = isTree(below) && Object.keys(below).length === 0 ? below : partOf(below, rest);
  return part && { [name]: part };
}

/**
 * The managedFields of an object whose fields devloop has restored: without devloop, and with the previous owners of these fields. A field
 * gets no owner if its previous owners are unknown, or have written since then and so may no longer want it. Returns undefined if
 * devloop owns nothing.
 */
export function withoutDevloop(
  object: KubeObject,
  restored: { path: string[]; owners?: Owner[] }[],
): ManagedFields[] | undefined {
  const own = entriesOf(object).filter(isOwn);
  if (own.length === 0) return undefined;
  const returned = restored.flatMap(({ path, owners = [] }) =>
    own.flatMap(({ fieldsV1 }) => {
      const part = partOf(fieldsV1, path);
      return part === undefined ? [] : owners.map((owner) => ({ owner, part }));
    }),
  );
  return returned.reduce(given, othersIn(object));
}

function given(entries: ManagedFields[], { owner, part }: { owner: Owner; part: Tree }): ManagedFields[] {
  const index = entries.findIndex((one) => identity(one) === identity(owner));
  const now = entries[index];
  if (now === undefined) return [...entries, { ...owner, fieldsType: 'FieldsV1', fieldsV1: part }];
  if (!isSameOwner(ownerIn(now), owner)) return entries;
  return entries.with(index, { ...now, fieldsV1: merged(now.fieldsV1, part) });
}

/** Whether both describe the same owner, who has not written in between: the times must be the same, too. */
export function isSameOwner(a: Owner, b: Owner): boolean {
  return identity(a) === identity(b) && a.apiVersion === b.apiVersion && a.time === b.time;
}

/** The API server keeps one entry of managedFields for each identity. A server-side applier has one entry for all API versions. */
function identity({ manager, operation, subresource, apiVersion }: Owner): string {
  return JSON.stringify([manager, operation, subresource, operation === 'Apply' ? '' : apiVersion]);
}

const LONGEST_NAME = 128;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/** Whether the API server would accept this owner. Anybody can write a mark, so an owner in it may not be valid. */
export function isOwner(value: unknown): value is Owner {
  const { manager, operation, apiVersion, subresource, time } = (value ?? {}) as Partial<Owner>;
  return (
    isName(manager) &&
    (operation === 'Apply' || operation === 'Update') &&
    isName(apiVersion) &&
    (subresource === undefined || isName(subresource)) &&
    (time === undefined || (typeof time === 'string' && TIME.test(time) && !Number.isNaN(Date.parse(time))))
  );
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && /^[\x20-\x7e]+$/.test(value) && value.length <= LONGEST_NAME;
}

function entriesOf({ metadata }: KubeObject): ManagedFields[] {
  return metadata.managedFields ?? [];
}

function othersIn(object: KubeObject): ManagedFields[] {
  return entriesOf(object).filter((one) => !isOwn(one));
}

function isOwn({ manager, operation }: Owner): boolean {
  return manager === OWN_MANAGER && operation === 'Update';
}

function ownerIn({ manager, operation, apiVersion, subresource, time }: ManagedFields): Owner {
  return {
    manager,
    operation,
    ...(apiVersion === undefined ? {} : { apiVersion }),
    ...(subresource === undefined ? {} : { subresource }),
    ...(time === undefined ? {} : { time }),
  };
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null;
}

function merged(tree: unknown, part: Tree): Tree {
  const result: Tree = isTree(tree) ? { ...tree } : {};
  for (const [name, below] of Object.entries(part)) result[name] = merged(result[name], below as Tree);
  return result;
}

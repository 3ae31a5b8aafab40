import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ClusterApi } from '../../src/cluster/api/client.ts';
import { ApiError } from '../../src/cluster/api/errors.ts';
import { type Kind, type ObjectRef, refOf } from '../../src/cluster/api/kinds.ts';
import type { KubeObject } from '../../src/cluster/api/objects.ts';
import type { PatchOperation } from '../../src/cluster/marks/marks.ts';
import { describe } from '../../src/report/object-name.ts';
import { applyJsonPatch } from './json-patch.ts';
import { clusterEntry } from './kubeconfig-entries.ts';
import { applied, conflictsOf, ownersAfterUpdate } from './managed-fields.ts';

export type Verb = 'get' | 'list' | 'create' | 'replace' | 'patch' | 'remove' | 'call';

/** What happens around a call. Throwing before the call refuses it; throwing after it loses the answer, although the call was done. */
export interface Hook {
  before?(verb: Verb, what: string): void | Promise<void>;
  after?(verb: Verb, what: string): void | Promise<void>;
}

/** What happened to an object. If it is gone, `object` is its last state. */
export interface Change {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  ref: ObjectRef;
  before: KubeObject | undefined;
  object: KubeObject;
  /** The client's name, if it has one. */
  by?: string | undefined;
}

export interface FakeCluster {
  /** Writes without changing managedFields and generations. */
  api: ClusterApi;
  /** The same for a client whose writes are recorded under this name. */
  as(manager: string): ClusterApi;
  /** Does what `kubectl apply --server-side` does; throws if somebody else owns a field that it would change. */
  apply(ref: ObjectRef, manifest: object, by: { manager: string; isForced: boolean }): void;
  /** Called after each write that changed something. */
  onChange?: (change: Change) => void;
  /** `verb Kind namespace/name` of every call, in order. */
  calls: string[];
  hook: Hook;
  put<T extends KubeObject>(kind: Kind, object: T): T;
  read<T extends KubeObject>(kind: Kind, name: string, namespace?: string): T | undefined;
  /** Does to an object what somebody else could do in the meantime. */
  edit<T extends KubeObject>(
    kind: Kind,
    name: string,
    namespace: string | undefined,
    change: (object: T) => void,
  ): void;
  drop(kind: Kind, name: string, namespace?: string): void;
  names(kind: Kind): string[];
  /** The resourceVersion of the newest write. */
  version(): string;
}

export function refusal(status: number, reason: string, message = reason): ApiError {
  return new ApiError(message, status, reason);
}

/**
 * An API server in memory, with resourceVersions, uids, label selectors, and the errors 404, 409 and 422. It has no controllers and no
 * admission.
 */
export function fakeCluster(
  answerCall: (method: string, path: string, body: unknown) => unknown = () => ({}),
): FakeCluster {
  const objects = new Map<string, KubeObject>();
  const calls: string[] = [];
  let version = 100;
  const store = <T extends KubeObject>(ref: ObjectRef, object: T, manager?: string): T => {
    for (const map of ['labels', 'annotations'] as const)
      if (Object.keys(object.metadata[map] ?? {}).length === 0) delete object.metadata[map];
    const before = objects.get(describe(ref));
    if (manager !== undefined) {
      record(before, object, manager);
      if (before !== undefined && isSameVersion(before, object)) return structuredClone(before) as T;
    }
    object.metadata.resourceVersion = String(++version);
    objects.set(describe(ref), object);
    changed({ type: before === undefined ? 'ADDED' : 'MODIFIED', ref, before, object, by: manager });
    return structuredClone(object);
  };
  const changed = (change: Change): void => cluster.onChange?.(structuredClone(change));
  const drop = (ref: ObjectRef): boolean => {
    const before = objects.get(describe(ref));
    if (before === undefined) return false;
    objects.delete(describe(ref));
    const metadata = { ...before.metadata, resourceVersion: String(++version) };
    changed({ type: 'DELETED', ref, before, object: { ...before, metadata } });
    return true;
  };
  const existing = (ref: ObjectRef): KubeObject => {
    const object = objects.get(describe(ref));
    if (object === undefined) throw refusal(404, 'NotFound', `${describe(ref)} not found`);
    return object;
  };
  const born = (ref: ObjectRef, object: object): KubeObject => {
    const copy = structuredClone(object) as KubeObject;
    copy.metadata = {
      ...copy.metadata,
      name: ref.name,
      ...(ref.namespace === undefined ? {} : { namespace: ref.namespace }),
      uid: randomUUID(),
    };
    return copy;
  };
  const moveOn = (now: KubeObject, next: KubeObject): KubeObject => {
    const { uid, resourceVersion } = now.metadata;
    if ((next.metadata.resourceVersion ?? resourceVersion) !== resourceVersion)
      throw refusal(409, 'Conflict', 'the object has been modified');
    if ((next.metadata.uid ?? uid) !== uid)
      throw refusal(409, 'Conflict', 'the UID in the precondition does not match');
    return { ...next, metadata: { ...next.metadata, ...(uid === undefined ? {} : { uid }) } };
  };
  const around = async <T>(verb: Verb, what: string, work: () => T): Promise<T> => {
    calls.push(`${verb} ${what}`);
    await cluster.hook.before?.(verb, what);
    const result = work();
    await cluster.hook.after?.(verb, what);
    return result;
  };
  const apiFor = (manager?: string): ClusterApi => ({
    context: 'fake',
    server: 'https://fake:6443',
    namespace: 'default',
    kubeconfigFiles: [],
    logIn: async () => undefined,
    pinned: {
      cluster: clusterEntry({ name: 'fake', server: 'https://fake:6443' }),
      context: { name: 'fake', cluster: 'fake', user: 'me', namespace: '' },
    },
    get: (ref) => around('get', describe(ref), () => structuredClone(objects.get(describe(ref))) as never),
    list: (kind, namespace, options) =>
      around('list', `${kind} ${namespace ?? '*'}`, () => {
        const selected = selector(options?.query?.labelSelector ?? '');
        const all = [...objects.entries()]
          .filter(([key]) => key.startsWith(`${kind} `))
          .map(([, object]) => object);
        return structuredClone(
          all.filter(
            (one) => (namespace ?? one.metadata.namespace) === one.metadata.namespace && selected(one),
          ),
        ) as never;
      }),
    create: (ref, object, { query } = {}) =>
      around('create', describe(ref), () => {
        if (objects.has(describe(ref)))
          throw refusal(409, 'AlreadyExists', `${describe(ref)} already exists`);
        if (query?.dryRun !== undefined) return born(ref, object) as never;
        return store(ref, born(ref, object), manager) as never;
      }),
    replace: (ref, object) =>
      around(
        'replace',
        describe(ref),
        () => store(ref, moveOn(existing(ref), structuredClone(object) as KubeObject), manager) as never,
      ),
    patch: (ref, type, patch) =>
      around('patch', describe(ref), () => {
        const now = existing(ref);
        return store(
          ref,
          moveOn(
            now,
            type === 'json' ? patched(now, patch as PatchOperation[]) : (merged(now, patch) as KubeObject),
          ),
          manager,
        ) as never;
      }),
    remove: (ref, uid) =>
      around('remove', describe(ref), () => {
        const now = objects.get(describe(ref));
        if (now === undefined || (uid !== undefined && now.metadata.uid !== uid)) return false;
        return drop(ref);
      }),
    call: (method, path, body) =>
      around('call', `${method} ${path}`, () => answerCall(method, path, body) as never),
    writes: new Set(),
    openStream: (path) => Promise.reject(refusal(501, 'NotImplemented', `no stream for ${path}`)),
    openWebSocket: (path) => Promise.reject(refusal(501, 'NotImplemented', `no WebSocket for ${path}`)),
    switchProtocol: (path) => Promise.reject(refusal(501, 'NotImplemented', `no connection for ${path}`)),
    forward: ({ path }) => Promise.reject(refusal(501, 'NotImplemented', `nothing is forwarded to ${path}`)),
    forwardUpgrade: ({ path }) =>
      Promise.reject(refusal(501, 'NotImplemented', `nothing is forwarded to ${path}`)),
    forwarderAs() {
      throw refusal(501, 'NotImplemented', 'there is one account');
    },
    async [Symbol.asyncDispose]() {},
  });
  const at = (kind: Kind, name: string, namespace?: string): ObjectRef => ({
    kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
  });
  const cluster: FakeCluster = {
    api: apiFor(),
    as: apiFor,
    calls,
    hook: {},
    put: (kind, object) =>
      store(refOf(kind, object.metadata), born(refOf(kind, object.metadata), object)) as never,
    read: (kind, name, namespace) =>
      structuredClone(objects.get(describe(at(kind, name, namespace)))) as never,
    edit(kind, name, namespace, change) {
      const object = structuredClone(existing(at(kind, name, namespace)));
      change(object as never);
      store(at(kind, name, namespace), object);
    },
    version: () => String(version),
    apply(ref, manifest, { manager, isForced }) {
      const now = existing(ref);
      const conflicts = isForced ? [] : conflictsOf(now, manifest, manager);
      if (conflicts.length > 0) throw refusal(409, 'Conflict', conflicts.join());
      const next = applied(now, manifest, manager);
      const { managedFields } = next.metadata;
      store(ref, next, manager);
      objects.get(describe(ref))!.metadata.managedFields = managedFields!;
    },
    names: (kind) =>
      [...objects].filter(([key]) => key.startsWith(`${kind} `)).map(([, object]) => object.metadata.name),
    drop: (kind, name, namespace) => void drop(at(kind, name, namespace)),
  };
  return cluster;
}

/** A write that changes nothing creates no new version. */
function isSameVersion(before: KubeObject, next: KubeObject): boolean {
  const { resourceVersion: _, ...metadata } = before.metadata;
  const { resourceVersion: __, ...other } = next.metadata;
  return isDeepStrictEqual({ ...before, metadata }, { ...next, metadata: other });
}

function record(before: KubeObject | undefined, object: KubeObject, manager: string): void {
  const { generation = 0, managedFields } = before?.metadata ?? {};
  const isSameSpec = isDeepStrictEqual(specOf(before), specOf(object));
  if (specOf(object) !== undefined) object.metadata.generation = isSameSpec ? generation : generation + 1;
  // A writer is allowed to change them directly, too.
  const owners = object.metadata.managedFields ?? managedFields;
  object.metadata.managedFields = ownersAfterUpdate(before, object, owners, manager);
}

function specOf(object: KubeObject | undefined): unknown {
  return (object as { spec?: unknown } | undefined)?.spec;
}

function patched(now: KubeObject, patch: PatchOperation[]): KubeObject {
  try {
    return applyJsonPatch(now, patch);
  } catch (error) {
    throw refusal(422, 'Invalid', String(error));
  }
}

function merged(now: unknown, patch: unknown): unknown {
  if (patch === null || typeof patch !== 'object' || Array.isArray(patch)) return structuredClone(patch);
  const result: Record<string, unknown> = { ...(now as Record<string, unknown>) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key] ?? {}, value);
  }
  return result;
}

/** Parses `a=b,c`: equality and existence. */
export function selector(text: string): (object: KubeObject) => boolean {
  const terms = text
    .split(',')
    .filter(Boolean)
    .map((term) => term.split('=', 2) as [string, string?]);
  return ({ metadata: { labels = {} } }) =>
    terms.every(
      ([key, value]) => Object.hasOwn(labels, key) && (value === undefined || labels[key] === value),
    );
}

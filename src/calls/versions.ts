import type { CalledResource } from '../api-proxy/api-call.ts';
import type { KubeObject } from '../cluster/api/objects.ts';
import { keepNewest } from './newest.ts';

/** The limit for all remembered objects, in characters of their JSON. */
const MOST_CHARACTERS = 16 * 2 ** 20;

/** One version of an object. */
export interface Version {
  /** What was asked for when it passed. */
  of: (Pick<CalledResource, 'resource'> & { group?: string }) | undefined;
  object: KubeObject;
  /** When it passed the proxy, in milliseconds since 1970. */
  at: number;
}

/** As JSON, which takes less memory than the object. */
interface Kept {
  uid: string | undefined;
  text: string;
  version: string;
  at: number;
}

/** How many versions of an object can pass between a call and the work on its answer. */
const MOST_VERSIONS = 8;
const MOST_KINDS = 1_000;
/** An older version is kept only if it is the newest. */
const KEPT_MS = 30_000;

/**
 * Remembers the newest versions of each object that has passed the proxy, within a limit: those that passed long ago are forgotten first. An
 * object that is deleted is remembered, too, because that can pass before the answer to its deletion.
 */
export class Versions {
  #kept = new Map<string, Kept[]>();
  #characters = 0;
  #kinds = new Map<string, string>();

  /**
   * Returns the version that was the newest at the time `since`; undefined if there is none. `since`: when the call arrived whose answer this
   * version is, because the event of a write, and those of the next ones, can pass before the answer to it.
   */
  add({ of, object, at }: Version, since = at): KubeObject | undefined {
    const { uid, resourceVersion: version = '' } = object.metadata;
    const key = keyOfObject(of, object);
    // An object of which only the metadata was asked for is of another group.
    if (object.kind && of?.group === groupOf(object))
      keepNewest(this.#kinds, MOST_KINDS, `${of.group}/${of.resource}`, object.kind);
    const before = this.#kept.get(key) ?? [];
    // Different objects can have the same name one after the other.
    const all = before.at(-1)?.uid === uid ? before : [];
    const isNewest = isNewer(version, before.at(-1)?.version);
    const recent = all.slice(1 - MOST_VERSIONS).filter((one) => one === all.at(-1) || at - one.at < KEPT_MS);
    const kept = isNewest ? [...recent, { uid, text: JSON.stringify(object), version, at }] : before;
    this.#characters += sizeOf(kept) - sizeOf(before);
    // The key moves to the end, where those are that passed last.
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    for (const [oldest, some] of this.#kept) {
      if (this.#characters <= MOST_CHARACTERS) break;
      this.#kept.delete(oldest);
      this.#characters -= sizeOf(some);
    }
    return newestAt(all, since);
  }

  /** The newest version of the object that is known besides this one. */
  besides({ of, object }: Omit<Version, 'at'>): KubeObject | undefined {
    const { uid, resourceVersion } = object.metadata;
    const known = this.#kept.get(keyOfObject(of, object)) ?? [];
    const found = known.findLast((one) => one.uid === uid && one.version !== resourceVersion);
    return found && (JSON.parse(found.text) as KubeObject);
  }

  /** Whether a version of the object is known as the path has it, rather than in another API version or only its metadata. */
  has(of: CalledResource): boolean {
    return this.#kept.has(pathKey(of));
  }

  /** The kind of the resource's objects, if one of them has passed. */
  kindOf({ group, resource }: CalledResource): string | undefined {
    return this.#kinds.get(`${group}/${resource}`);
  }

  /** The version that was the newest at this time. */
  at(of: CalledResource, at: number): KubeObject | undefined {
    return newestAt(this.#kept.get(pathKey(of)) ?? [], at);
  }
}

function newestAt(all: Kept[], at: number): KubeObject | undefined {
  const found = all.findLast((one) => one.at <= at);
  return found && (JSON.parse(found.text) as KubeObject);
}

/** Of all objects of a resource, versions are growing numbers. */
function isNewer(version: string, than = ''): boolean {
  return version.length === than.length ? version > than : version.length > than.length;
}

function groupOf({ apiVersion = '' }: KubeObject): string {
  return apiVersion.includes('/') ? apiVersion.split('/')[0]! : '';
}

function sizeOf(kept: Kept[]): number {
  return kept.reduce((sum, { text }) => sum + text.length, 0);
}

function keyOfObject(of: Version['of'], { apiVersion, kind = '', metadata }: KubeObject): string {
  const { namespace, name } = metadata;
  return keyOf(apiVersion, { resource: of?.resource ?? kind, namespace, name });
}

function pathKey({ group, version, ...of }: CalledResource): string {
  return keyOf(group === '' ? version : `${group}/${version}`, of);
}

function keyOf(
  apiVersion = '',
  { resource, namespace = '', name = '' }: Pick<CalledResource, 'resource'> & Partial<CalledResource>,
): string {
  return `${apiVersion} ${resource} ${namespace}/${name}`;
}

/** Undefined if it is not JSON. */
export function jsonIn(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** The value as an object of Kubernetes; undefined if it is none, or is a list. */
export function objectIn(value: unknown): KubeObject | undefined {
  const { kind, metadata } = (value ?? {}) as Partial<KubeObject>;
  const isOne = typeof kind === 'string' && typeof metadata?.name === 'string' && kind !== 'Status';
  return isOne ? (value as KubeObject) : undefined;
}

import type { KubeObject } from '../cluster/api/objects.ts';

/** The limit for all remembered objects, in characters of their JSON. */
const MOST_CHARACTERS = 16 * 2 ** 20;

/** One version of an object. */
export interface Version {
  object: KubeObject;
  /** When it passed the proxy, in milliseconds since 1970. */
  at: number;
}

/** As JSON, which takes less memory than the object. */
interface Kept {
  text: string;
  version: string;
  at: number;
}

/** How many versions of an object can pass between a call and the work on its answer. */
const MOST_VERSIONS = 8;
/** An older version is kept only if it is the newest. */
const KEPT_MS = 30_000;

/** Remembers the newest versions of each object that has passed the proxy, within a limit: those that passed long ago are forgotten first. */
export class Versions {
  #kept = new Map<string, Kept[]>();
  #characters = 0;

  /**
   * Returns the version that was the newest at the time `since`; undefined if there is none. `since`: when the call arrived whose answer this
   * version is, because the event of a write, and those of the next ones, can pass before the answer to it.
   */
  add({ object, at }: Version, since = at): KubeObject | undefined {
    const key = keyOf(object);
    const all = this.#kept.get(key) ?? [];
    const { resourceVersion: version = '' } = object.metadata;
    const before = all.findLast((one) => one.at < since);
    const isNewest = isNewer(version, all.at(-1)?.version);
    const recent = all.slice(1 - MOST_VERSIONS).filter((one) => one === all.at(-1) || at - one.at < KEPT_MS);
    const kept = isNewest ? [...recent, { text: JSON.stringify(object), version, at }] : all;
    this.#characters += sizeOf(kept) - sizeOf(all);
    // The key moves to the end, where those are that passed last.
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    for (const [oldest, some] of this.#kept) {
      if (this.#characters <= MOST_CHARACTERS) break;
      this.#kept.delete(oldest);
      this.#characters -= sizeOf(some);
    }
    return before && (JSON.parse(before.text) as KubeObject);
  }

  remove(object: KubeObject): void {
    const key = keyOf(object);
    this.#characters -= sizeOf(this.#kept.get(key) ?? []);
    this.#kept.delete(key);
  }
}

/** Of one object, versions are growing numbers. */
function isNewer(version: string, than = ''): boolean {
  return version.length === than.length ? version > than : version.length > than.length;
}

function sizeOf(kept: Kept[]): number {
  return kept.reduce((sum, { text }) => sum + text.length, 0);
}

/** The uid tells objects apart that have the same name one after the other, and different versions of the same API. */
function keyOf({ apiVersion = '', metadata }: KubeObject): string {
  return `${apiVersion} ${metadata.uid ?? `${metadata.namespace}/${metadata.name}`}`;
}

/** The object in a text of JSON; undefined if it is none, or is a list. */
export function objectIn(value: unknown): KubeObject | undefined {
  const { kind, metadata } = (value ?? {}) as Partial<KubeObject>;
  const isOne = typeof kind === 'string' && typeof metadata?.name === 'string' && kind !== 'Status';
  return isOne ? (value as KubeObject) : undefined;
}

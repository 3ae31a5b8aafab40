import type { KubeObject, OwnerReference } from '../cluster/api/objects.ts';
import type { CauseEvent } from '../report/call.ts';
import { keepNewest } from './newest.ts';

/** An object that a controller reconciles. Before controller-runtime 0.14, its kind is not known. */
export interface Reconciled {
  kind?: string | undefined;
  namespace?: string | undefined;
  name: string;
}

type Written = Pick<CauseEvent, 'changes' | 'more'>;

interface Noted {
  /** In the order of arrival. */
  number: number;
  /** When it passed, in milliseconds since 1970. */
  at: number;
  event: CauseEvent;
  about: Reconciled[];
  version: string;
}

const MOST = 2_000;
/** What a reconcile shows. */
const MOST_SHOWN = 10;
/** Without a reconcile, only the time shows what belongs together. */
const SHORTLY_MS = 10_000;
const MOST_BY_TIME = 3;
/** A program that an event wakes has its next write on the way by then. */
const AT_ONCE_MS = 250;

/** Remembers the last events of all watches, to say after which of them an object was reconciled. */
export class Causes {
  #events: Noted[] = [];
  #number = 0;
  #seen = new Map<string, number>();
  /** The versions that this controller itself wrote, with what it changed. */
  #own = new Map<string, Written>();

  add(object: KubeObject, event: CauseEvent, at: number): void {
    const { metadata } = object;
    const owners = ownersOf(metadata).filter(({ controller }) => controller === true);
    const about = [
      { kind: event.kind, namespace: metadata.namespace, name: metadata.name },
      // An owner is in the namespace of what it owns, or in none.
      ...owners.flatMap(({ kind, name }) => [
        { kind, namespace: metadata.namespace, name },
        { kind, namespace: undefined, name },
      ]),
    ];
    this.#number += 1;
    const version = versionOf(object);
    const own = this.#own.get(version);
    if (own) Object.assign(event, own, { isOwn: true });
    this.#events.push({ number: this.#number, at, event, about, version });
    if (this.#events.length > 2 * MOST) this.#events.splice(0, MOST);
  }

  /**
   * The events shortly before `at` about an object that was written, or about the one that controls it, the newest first: what a call without a
   * reconcile may have been made for. Of its own writes, only one of the same object that came last and a moment ago.
   */
  shortlyBefore(written: KubeObject, at: number): CauseEvent[] {
    const { kind, metadata } = written;
    const owner = ownersOf(metadata).find(({ controller }) => controller === true);
    const { namespace } = metadata;
    const self = { kind, namespace, name: metadata.name };
    const objects = owner
      ? [namespace, undefined].map((where) => ({ kind: owner.kind, namespace: where, name: owner.name }))
      : [self];
    const found = this.#events.filter(
      (one) =>
        one.at <= at &&
        one.at > at - SHORTLY_MS &&
        one.about.some((about) => objects.some((object) => isSame(about, object))),
    );
    const last = found.at(-1);
    const isOfOwn = last?.event.isOwn && last.at > at - AT_ONCE_MS && isSame(last.about[0]!, self);
    return [
      ...(isOfOwn ? [last.event] : []),
      ...found
        .filter(({ event }) => !event.isOwn)
        .slice(-MOST_BY_TIME)
        .reverse()
        .map(({ event }) => event),
    ];
  }

  /** The controller itself wrote this version. Its event may have arrived before the answer to the write. */
  wrote(object: KubeObject, written: Written): void {
    const version = versionOf(object);
    keepNewest(this.#own, MOST, version, written);
    const noted = this.#events.findLast((one) => one.version === version);
    if (noted) Object.assign(noted.event, written, { isOwn: true });
  }

  /**
   * The events about the object, or about what it controls, since this controller began to reconcile it the last time, and before it began at
   * `at`; the newest first.
   */
  before(controller: string, object: Reconciled, at: number): CauseEvent[] {
    const key = JSON.stringify([controller, object.kind, object.namespace, object.name]);
    const since = this.#seen.get(key) ?? 0;
    // Those that passed since then can already be here.
    const newest = this.#events.findLast((one) => one.at <= at)?.number ?? 0;
    keepNewest(this.#seen, MOST, key, Math.max(since, newest));
    const found: CauseEvent[] = [];
    for (let index = this.#events.length - 1; index >= 0 && found.length < MOST_SHOWN; index--) {
      const { number, event, about } = this.#events[index]!;
      if (number <= since) break;
      if (number <= newest && about.some((one) => isSame(one, object))) found.push(event);
    }
    return found;
  }
}

export function isSame(one: Reconciled, other: Reconciled): boolean {
  return (
    one.name === other.name &&
    (one.namespace ?? '') === (other.namespace ?? '') &&
    (other.kind === undefined || one.kind === other.kind)
  );
}

function versionOf({ metadata: { uid, resourceVersion } }: KubeObject): string {
  return `${uid} ${resourceVersion}`;
}

export function ownersOf({ ownerReferences }: KubeObject['metadata']): OwnerReference[] {
  return Array.isArray(ownerReferences) ? ownerReferences : [];
}

import type { Emit } from '../report/events.ts';
import { notice, type Told } from '../report/notices/catalogue.ts';
import type { ObjectName } from '../report/object-name.ts';
import { keepNewest } from './newest.ts';
import type { Begun } from './reconciles.ts';

/** Of a loop, one of so many reconciles is recorded, but only while others would be recorded later than this. */
const EACH = 10;
const BEHIND_MS = 2_000;
const MOST = 1_000;

/** A loop that is known: its reconciles say nothing new. */
export interface Loop {
  controller: string;
  object: ObjectName;
}

/** Leaves most reconciles of the known loops out of a recording that is behind, so that it gets to all others soon. */
export class Sampling {
  #emit: Emit;
  #loops = new Map<string, Loop & { begun: number; isTold?: true }>();
  #leftOut = new Map<string, true>();

  constructor(emit: Emit) {
    this.#emit = emit;
  }

  /** The loop that has gone around most often. */
  get loop(): Loop | undefined {
    const [most] = [...this.#loops.values()].sort((one, other) => other.begun - one.begun);
    return most && loopOf(most);
  }

  warned(warning: Told<'warning'>): void {
    if (warning.code !== 'reconciles.wake-themselves') return;
    const { controller = '', object } = warning.values as { controller?: string; object: ObjectName };
    const key = keyOf(controller, object);
    if (!this.#loops.has(key)) keepNewest(this.#loops, MOST, key, { controller, object, begun: 0 });
  }

  /** Whether this reconcile is left out. `behindMs`: how long the oldest waits that is not recorded yet. */
  begun({ reconcile, controller, kind, namespace, name }: Begun, behindMs: number): boolean {
    const loop = this.#loops.get(keyOf(controller, { kind: kind ?? controller, namespace, name }));
    if (loop === undefined) return false;
    loop.begun += 1;
    if (behindMs < BEHIND_MS || loop.begun % EACH === 0) return false;
    if (!loop.isTold) this.#emit(notice('reconciles.sampled', { ...loopOf(loop), each: EACH }));
    loop.isTold = true;
    keepNewest(this.#leftOut, MOST, reconcile, true);
    return true;
  }

  leavesOut(reconcile: unknown): boolean {
    return typeof reconcile === 'string' && this.#leftOut.has(reconcile);
  }

  /** The next program may do without. */
  exited(): void {
    this.#loops.clear();
  }
}

function loopOf({ controller, object }: Loop): Loop {
  return { controller, object };
}

type Named = { kind: string; namespace?: string | undefined; name: string };

function keyOf(controller: string, { kind, namespace = '', name }: Named): string {
  return JSON.stringify([controller, kind, namespace, name]);
}

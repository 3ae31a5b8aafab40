import type { ReconcileCall } from './call.ts';
import type { Counting } from './counts.ts';
import type { DevloopEvent } from './events.ts';
import type { Loops } from './loops.ts';
import { callCount, loopCount, reconcileCount } from './render-call.ts';
import { reviewCount } from './render-review.ts';
import type { Paint } from './text.ts';

/** What can come hundreds of times a second, and is counted then. */
export type Repeated = Extract<DevloopEvent, { type: 'review' | 'reconcile' | 'call' }>;

export function isRepeated(event: DevloopEvent): event is Repeated {
  return event.type === 'review' || event.type === 'reconcile' || event.type === 'call';
}

const OF_FLOOD = { printed: 5, everyMs: 1_000 };
/** A warning has said it already, and has to stay on the screen. */
const OF_LOOP = { printed: 0, everyMs: 30_000 };

export function countingOf(event: Repeated, deployment: string | undefined, loops: Loops): Counting {
  const loop = event.type === 'review' ? undefined : loops.of(event, deployment);
  return loop === undefined ? { says: saidBy(event), ...OF_FLOOD } : { says: [loop], ...OF_LOOP };
}

/** The row that counts several. */
export function countText(last: Repeated, count: number, { everyMs }: Counting, paint: Paint): string {
  if (last.type === 'review') return reviewCount(last, count, paint);
  if (everyMs === OF_LOOP.everyMs) return loopCount(last, count, paint);
  return last.type === 'call' ? callCount(last, count, paint) : reconcileCount(last, count, paint);
}

function saidBy(event: Repeated): unknown[] {
  if (event.type === 'review') {
    const { verdict, webhook, operation, resource, message, patch, build, isOldBuild } = event;
    return [verdict, webhook, operation, resource, message, patch, build, isOldBuild];
  }
  if (event.type === 'call') {
    const { message, isUnchanged, build } = event;
    return [event.type, doneBy(event), message, isUnchanged, build];
  }
  const { controller, kind, result, error, calls, build } = event;
  return [controller, kind, result, error, calls.map(doneBy), build];
}

/** The values that it wrote are not the same each time: a time, a counter. */
function doneBy({ verb, kind, resource, code, changes = [] }: Partial<ReconcileCall>): unknown[] {
  return [verb, kind ?? resource, code, changes.map((one) => /^(?:[^=[]|\[[^\]]*\])*/.exec(one)?.[0])];
}

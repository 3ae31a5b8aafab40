import type { ReconcileSummary } from '../report/call.ts';
import { asks, wordOf } from '../report/call-words.ts';

/** A reconcile, and those of the same object that ended like it, with nothing else between them. */
export interface Repeated {
  first: ReconcileSummary;
  again: ReconcileSummary[];
}

/** To be called with reconciles in the order of time, of any objects. */
export function repeatedIn(reconciles: ReconcileSummary[]): Repeated[] {
  const all: Repeated[] = [];
  const last = new Map<string, Repeated>();
  for (const one of reconciles) {
    const { controller, kind, namespace, name } = one;
    const key = JSON.stringify([controller, kind, namespace, name]);
    const before = last.get(key);
    if (before && isAgain(one, before.first)) before.again.push(one);
    else {
      const repeated = { first: one, again: [] };
      all.push(repeated);
      last.set(key, repeated);
    }
  }
  return all;
}

/** Whether it says nothing that the first one has not said. What it did after somebody else asked for something is worth a line. */
function isAgain(one: ReconcileSummary, first: ReconcileSummary): boolean {
  if (one.counts.writes + first.counts.writes > 0) return false;
  if (wordOf(one) !== wordOf(first) || one.error !== first.error) return false;
  return !one.after.some((event) => !event.isOwn && asks(event));
}

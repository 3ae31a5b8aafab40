import type { ReconcileSummary } from '../report/call.ts';
import type { TimelineEntry } from './protocol.ts';
import { repeatedIn } from './repeated.ts';

/** A line of a timeline. */
export interface Folded {
  entry: TimelineEntry;
  /** The reconciles that repeated it. What these have logged is left out with them. */
  again: ReconcileSummary[];
}

export function foldedIn(entries: TimelineEntry[]): Folded[] {
  const reconciles = entries.flatMap((one) => (one.type === 'reconciles.listed' ? [one.reconcile] : []));
  const repeated = new Map(repeatedIn(reconciles).map(({ first, again }) => [first.reconcile, again]));
  const ids = new Set(reconciles.map(({ reconcile }) => reconcile));
  return entries.flatMap((entry) => {
    const id = reconcileOf(entry);
    const again = id === undefined ? [] : repeated.get(id);
    if (id !== undefined && ids.has(id) && again === undefined) return [];
    return [{ entry, again: entry.type === 'reconciles.listed' ? (again ?? []) : [] }];
  });
}

function reconcileOf(entry: TimelineEntry): string | undefined {
  if (entry.type === 'timeline.logged') return entry.reconcile;
  return entry.type === 'reconciles.listed' ? entry.reconcile.reconcile : undefined;
}

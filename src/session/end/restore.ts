import { ApiError, rejected } from '../../cluster/api/errors.ts';
import { whileAway } from '../../cluster/api/while-away.ts';
import type { RestoreResult } from '../../cluster/takeover/restore-steps.ts';
import type { Work } from '../../cluster/work.ts';
import { describe } from '../../report/object-name.ts';
import {
  isAway,
  isStillMarked,
  type RestoreOptions,
  type RestoreSummary,
  restoreOnce,
  StillMarked,
} from './restore-pass.ts';

/** How long `down`, and the recovery of a dead session, wait for an API server that is unreachable. */
export const AWAY_LIMIT_MS = 60_000;
const PASSES_WITH_REST = 5;

export interface UntilRestored extends RestoreOptions {
  /** How long to wait for an API server that is unreachable. */
  awayLimitMs?: number;
  /** Called once, when the API server is unreachable for the first time. */
  onAway?: (error: unknown) => void;
}

/**
 * Restores everything, in as many passes as it takes: each one reads the cluster again, and does what is left to do. Between two passes,
 * whatever answers the reviews keeps answering them.
 */
export async function restore(
  work: Work,
  namespaces: string[],
  options: UntilRestored,
): Promise<RestoreSummary> {
  const { awayLimitMs = AWAY_LIMIT_MS, onAway, onFound, found: seen, ...rest } = options;
  const left = new Map<string, RestoreResult>();
  let { taken } = options;
  let notStarted: RestoreSummary['notStarted'] = [];
  let most = 0;
  let passes = 0;
  let isAnnounced = false;
  const found = (changes: number): void => {
    if (!isAnnounced) onFound?.(changes);
    isAnnounced = true;
    most = Math.max(most, changes);
  };
  const mayPass = (error: unknown): boolean =>
    isAway(error) || (error instanceof StillMarked && passes < PASSES_WITH_REST);
  const pass = async (): Promise<void> => {
    passes++;
    const look = passes === 1 ? { found: seen } : {};
    const done = await restoreOnce(work, namespaces, { ...rest, ...look, taken, onFound: found });
    ({ taken, notStarted } = done);
    for (const one of done.left) left.set(describe(one.ref), one);
    if (done.failures.length > 0) throw done.failures.find(mayPass) ?? done.failures[0];
  };
  const { emit, signal } = work;
  try {
    await whileAway(pass, { limitMs: awayLimitMs, mayPass, onAway, emit, signal });
    const all = [...left.values()];
    const changes = most - all.filter(isStillMarked).length;
    return { context: work.api.context, changes, left: all, notStarted };
  } catch (error) {
    throw error instanceof ApiError ? rejected(error, `Restoring session ${work.sessionId}`) : error;
  }
}

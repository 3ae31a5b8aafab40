import { notice } from '../report/notices/catalogue.ts';
import type { Supervised } from './supervised.ts';

/** A controller that takes longer to end delays each save. */
const SLOW_MS = 3_000;
/** With the shortest grace period, nothing is left to suggest. */
const SHORTEST_MS = 1_000;
const SUGGESTED_AFTER = 2;

/** Suggests a shorter grace period when the controller has taken long to end at several restarts. */
export async function noticeSlowEnd(supervised: Supervised, ended: Promise<unknown>): Promise<void> {
  const { plan, ports, disposed } = supervised;
  const stoppedAt = performance.now();
  await ended;
  const ms = performance.now() - stoppedAt;
  if (disposed.aborted || plan.graceMs <= SHORTEST_MS || ms < Math.min(SLOW_MS, plan.graceMs)) return;
  supervised.slowEnds++;
  if (supervised.slowEnds !== SUGGESTED_AFTER) return;
  const seconds = Math.round(ms / 100) / 10;
  ports.emit(notice('controller.slow-to-end', { seconds }));
}

import { pollUntil, sleep } from '../../async.ts';
import { answered } from '../../cluster/api/while-away.ts';
import type { Pod } from '../../cluster/api/workloads.ts';
import type { PausingManager } from '../../cluster/takeover/pause/pause.ts';
import type { Work } from '../../cluster/work.ts';
import { messageOf } from '../../errors.ts';
import { notice } from '../../report/notices/catalogue.ts';

/** Most managers end within this time, and then nothing need be said about their Pods. */
const SHORT_MS = 1_000;
const POLL_MS = 1_000;

/**
 * The Pods of the manager that is being paused. kube-apiserver can go on calling them over open connections until they have ended, which
 * can take minutes. Reviews over new connections are answered here.
 */
export interface OldPods {
  /** Resolves after a moment, to how many there still are. */
  count(): Promise<number>;
  /** Resolves when all have ended; false if there were none, or the session ends first. Warns if it takes long. */
  gone(): Promise<boolean>;
}

export function followOldPods(
  { emit, signal }: Pick<Work, 'emit' | 'signal'>,
  pausing: PausingManager[],
): OldPods {
  const ending = pausing.filter(({ podsLeft }) => podsLeft !== undefined);
  const ended = Promise.all(ending.map((one) => one.ended));
  ended.catch(() => {});
  const count = async (): Promise<number> => {
    const counts = await Promise.all(ending.map(({ podsLeft }) => podsLeft!()));
    return counts.reduce((sum, one) => sum + one, 0);
  };
  const areGone = async (): Promise<boolean> => {
    if (!(await ended).includes(false)) return true;
    emit(notice('manager.still-terminating', {}));
    const isOver = answered(async () => (await count()) === 0);
    return await pollUntil(isOver, { everyMs: POLL_MS, limitMs: Number.POSITIVE_INFINITY, signal });
  };
  return {
    async count() {
      await Promise.race([ended, sleep(SHORT_MS, signal)]).catch(() => {});
      return await count().catch(() => 0);
    },
    async gone() {
      if (ending.length === 0) return false;
      try {
        return (await areGone()) && !signal.aborted;
      } catch (error) {
        if (!signal.aborted) emit(notice('manager.unseen', { cause: messageOf(error) }));
        return false;
      }
    },
  };
}

/** The Pods whose containers have ended. */
export function endedPods(pausing: PausingManager[] = []): Pod[] {
  return pausing.flatMap((one) => one.endedPods?.() ?? []);
}

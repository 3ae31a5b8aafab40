import { sleep } from '../../async.ts';
import { messageOf } from '../../errors.ts';
import type { DevloopEvent, Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { type ReviewRecord, withAnswerOf } from '../../reviews/record.ts';
import type { ReplayOptions } from '../../reviews/replay.ts';
import { createAlike } from './alike.ts';

/** Limits for the reviews that are sent again after each restart: the newest ones, in number and in bytes of JSON. */
const MOST_RECORDS = 200;
const MOST_BYTES = 16 * 2 ** 20;
/** The wait after a restart, in which the controller answers the reviews that have waited for it. */
const AFTER_RESTART_MS = 300;
const LONGEST_MS = 10_000;
/** One review at a time, so that the controller has time for other reviews. */
const AT_ONCE = 1;

/** What `up --replay` does: after each restart, the newest reviews are sent to the new build, and the answers that differ are shown. */
export interface ReplayAfterRestart extends AsyncDisposable {
  keep(record: ReviewRecord): void;
  observe(event: DevloopEvent): void;
}

type Where = Pick<ReplayOptions, 'paths' | 'moved'>;

interface KeptReview {
  /** The review with its newest answer, so that each build is compared with the one before it. */
  record: ReviewRecord;
  bytes: number;
}

export function createReplaying(
  where: Where,
  { emit, signal: ended }: { emit: Emit; signal: AbortSignal },
): ReplayAfterRestart {
  const kept: KeptReview[] = [];
  let bytes = 0;
  let build: string | undefined;
  let current = new AbortController();
  let running = Promise.resolve();
  const after = async (before: Promise<void>, signal: AbortSignal): Promise<void> => {
    await before;
    if (kept.length === 0 || !(await sleep(AFTER_RESTART_MS, signal))) return;
    await replayKept([...kept], { ...where, emit, build, signal }).catch((error) => {
      // If the signal has aborted, another build has replaced this one, or the session is ending.
      if (!signal.aborted) emit(notice('reviews.not-replayed', { cause: messageOf(error) }));
    });
  };
  return {
    keep(record) {
      if (record.request === undefined) return;
      const size = JSON.stringify(record.request).length;
      kept.push({ record, bytes: size });
      bytes += size;
      while (kept.length > MOST_RECORDS || bytes > MOST_BYTES) bytes -= kept.shift()!.bytes;
    },
    observe(event) {
      if (event.type === 'controller.started') {
        build = event.build;
        current.abort();
      }
      if (event.type !== 'controller.replaced') return;
      current = new AbortController();
      running = after(running, AbortSignal.any([current.signal, ended]));
    },
    async [Symbol.asyncDispose]() {
      current.abort();
      await running;
    },
  };
}

async function replayKept(
  kept: KeptReview[],
  { emit, build, signal, ...where }: Where & { emit: Emit; build: string | undefined; signal: AbortSignal },
): Promise<void> {
  // Loaded only when it is needed.
  const { replay, replayedEvent } = await import('../../reviews/replay.ts');
  const started = performance.now();
  const limited = AbortSignal.any([signal, AbortSignal.timeout(LONGEST_MS)]);
  const count = { replayed: 0, changed: 0, leftOut: 0 };
  const alike = createAlike();
  const byRecord = new Map(kept.map((one) => [one.record, one]));
  const replaying = replay([...byRecord.keys()], {
    ...{ ...where, withSideEffects: false, atOnce: AT_ONCE, signal: limited },
    onReplayed(replayed) {
      if (replayed.result === 'left-out') count.leftOut += 1;
      else count.replayed += 1;
      if (replayed.result === 'changed') {
        count.changed += 1;
        const { before, after } = replayed;
        // A build that crashes or hangs gives no answer with which the next build could be compared.
        if (after.verdict !== 'unanswered') byRecord.get(before)!.record = withAnswerOf(before, after, build);
      }
      // Unchanged answers are not shown.
      if (replayed.result === 'changed') alike.add(replayedEvent(replayed));
    },
  });
  // If the time is up, what was compared until then counts.
  await replaying.catch((error) => {
    if (signal.aborted || !limited.aborted) throw error;
  });
  const ms = Math.round(performance.now() - started);
  const total = { ...count, leftOut: kept.length - count.replayed };
  for (const event of alike.found()) emit(event);
  emit({ type: 'reviews.compared', ...total, ms, build });
}

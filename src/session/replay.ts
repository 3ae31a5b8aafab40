import { pollUntil, reportWhileWaiting } from '../async.ts';
import { jsonPath } from '../config/json-path.ts';
import { answersTls } from '../controller/readiness.ts';
import { DevloopError } from '../errors.ts';
import type { Emit } from '../report/events.ts';
import type { ReviewRecord } from '../reviews/record.ts';
import { type ReplayCount, type ReplayOptions, replay, replayedEvent } from '../reviews/replay.ts';
import type { LocalSession } from './context/local-sessions.ts';
import type { Io } from './context/options.ts';
import { askSession } from './control/client.ts';

/** A person waits for the result, and the controller has nothing else to do in most cases. */
const AT_ONCE = 4;
const READY_SECONDS = 30;
const ASK_MS = 5_000;

/** Sends the records to the controller of a running session. Throws 'review.changed' if an answer changed. */
export async function replayToSession(
  session: LocalSession,
  records: ReviewRecord[],
  { io, withSideEffects }: { io: Io; withSideEffects: boolean },
): Promise<void> {
  const { emit, signal } = io;
  const asking = { emit, signal, limitMs: ASK_MS };
  const { paths, build, ports = [] } = await askSession(session, 'replaying', {}, asking);
  const moved = new Map(ports);
  for (const port of new Set(records.flatMap((one) => one.port ?? [])))
    await untilAnswering(moved.get(port) ?? port, io);
  const options = { paths: paths.map((path) => jsonPath(path)!), withSideEffects, moved, signal };
  await compareAll(records, { ...options, emit, ...(build === undefined ? {} : { build }) });
}

export interface Comparing extends Omit<ReplayOptions, 'onReplayed' | 'atOnce'> {
  emit: Emit;
  /** What answers now. */
  build?: string;
  /** Whether a changed answer is the right one from now on; by default, none is. */
  accepts?: ((before: ReviewRecord, after: ReviewRecord) => boolean) | undefined;
  /** What to do where the new answers are right. */
  hint?: string;
}

/** Reports each review and then all of them. Throws 'review.changed' if an answer changed that is not accepted. */
export async function compareAll(
  records: ReviewRecord[],
  { emit, build, accepts = () => false, hint, ...options }: Comparing,
): Promise<void> {
  const started = performance.now();
  let wrong = 0;
  const onReplayed: ReplayOptions['onReplayed'] = (one) => {
    emit(replayedEvent(one));
    if (one.result === 'changed' && !accepts(one.before, one.after)) wrong += 1;
  };
  const count = await replay(records, { ...options, atOnce: AT_ONCE, onReplayed });
  const ms = Math.round(performance.now() - started);
  emit({ type: 'reviews.compared', ...count, ms, ...(build === undefined ? {} : { build }) });
  if (wrong > 0) throw changed(wrong, count, hint);
}

function changed(wrong: number, { replayed }: ReplayCount, hint?: string): DevloopError {
  const message = `The controller now answers ${wrong} of ${replayed} recorded reviews differently.`;
  return new DevloopError('review.changed', message, {
    isSummary: true,
    ...(hint === undefined ? {} : { hint }),
  });
}

async function untilAnswering(port: number, { emit, signal }: Io): Promise<void> {
  const answering = pollUntil(() => answersTls({ host: '127.0.0.1', port }), {
    ...{ everyMs: 100, limitMs: READY_SECONDS * 1000, signal },
  });
  const waiting = { for: `the controller to answer on port ${port}`, limitSeconds: READY_SECONDS };
  const isAnswering = await reportWhileWaiting(answering, waiting, emit);
  signal.throwIfAborted();
  if (isAnswering) return;
  throw new DevloopError(
    'controller.not-ready',
    `Nothing answers TLS on 127.0.0.1:${port}, where the controller got these reviews.`,
    { hint: 'Look at the output of `devloop up` in its terminal.' },
  );
}

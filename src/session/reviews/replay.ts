import { pollUntil, reportWhileWaiting } from '../../async.ts';
import { jsonPath } from '../../config/json-path.ts';
import { answersTls } from '../../controller/readiness.ts';
import { DevloopError } from '../../errors.ts';
import { shellWord, withNames } from '../../phrases.ts';
import type { Emit } from '../../report/events.ts';
import type { ReviewRecord } from '../../reviews/record.ts';
import { type ReplayOptions, replay, replayedEvent } from '../../reviews/replay.ts';
import type { LocalSession } from '../context/local-sessions.ts';
import type { Io } from '../context/options.ts';
import { askSession } from '../control/client.ts';
import { createAlike } from './alike.ts';

/** How many reviews are sent at once: a person waits for the result, and the controller usually has nothing else to do. */
const AT_ONCE = 4;
const READY_SECONDS = 30;
const ASK_MS = 5_000;

/** Where records come from, named like the flags of `devloop reviews`. */
export interface From {
  set?: string;
  session?: string;
}

/** Sends the records to the controller of a running session. Throws 'review.changed' if an answer changed. */
export async function replayToSession(
  session: LocalSession,
  records: ReviewRecord[],
  { io, withSideEffects, from }: { io: Io; withSideEffects: boolean; from: From },
): Promise<void> {
  const { emit, signal } = io;
  const asking = { emit, signal, limitMs: ASK_MS };
  const { paths, build, ports = [] } = await askSession(session, 'replaying', {}, asking);
  const moved = new Map(ports);
  const recorded = new Set(records.flatMap((one) => one.port ?? []));
  for (const port of recorded) requirePort(port, moved, session);
  for (const port of recorded) await untilAnswering(moved.get(port) ?? port, io);
  const options = { paths: paths.map((path) => jsonPath(path)!), withSideEffects, moved, signal };
  const hint = (changed: ReviewRecord): string => afterReplay(changed, from);
  await compareAll(records, { ...options, emit, hint, ...(build === undefined ? {} : { build }) });
}

/** What to do next if a session's controller answers a review differently. */
export function afterReplay(changed: ReviewRecord, from: From): string {
  const { set } = from;
  if (set === undefined) return toShow(changed, from);
  // As long as the session uses the controller's port, `verify` would fail.
  return `${toShow(changed, from)}\nIf the new answers are right, end the session, then run: ${toAccept(set)}`;
}

/** Like `afterReplay`, but for `verify`, which starts a manager of its own to answer the reviews. */
export function afterVerify(changed: ReviewRecord, set: string): string {
  return `${toShow(changed, { set })}\nIf the new answers are right: ${toAccept(set)}`;
}

function toAccept(set: string): string {
  return `devloop reviews verify ${shellWord(set)} --update`;
}

/** The command that shows a review with its objects and its recorded answer. */
export function toShow({ id }: ReviewRecord, { set, session }: From): string {
  const from =
    set !== undefined
      ? ` --set ${shellWord(set)}`
      : session !== undefined
        ? ` --session ${shellWord(session)}`
        : '';
  return `To see the review as it was recorded: devloop reviews show ${id}${from}`;
}

export interface CompareOptions extends Omit<ReplayOptions, 'onReplayed' | 'atOnce'> {
  emit: Emit;
  /** The build that answers now. */
  build?: string;
  /** Whether a changed answer is to be accepted; by default, none is. */
  accepts?: ((before: ReviewRecord, after: ReviewRecord) => boolean) | undefined;
  /** What to do next, given the first review whose answer is different. */
  hint(changed: ReviewRecord): string;
}

/** Reports each review, those whose answers differ in the same way together, and then the totals. Throws 'review.changed' if an answer changed that is not accepted. */
export async function compareAll(
  records: ReviewRecord[],
  { emit, build, accepts = () => false, hint, ...options }: CompareOptions,
): Promise<void> {
  const started = performance.now();
  const wrong: ReviewRecord[] = [];
  const alike = createAlike();
  const onReplayed: ReplayOptions['onReplayed'] = (one) => {
    const event = { ...replayedEvent(one), asked: true } as const;
    if (one.result === 'changed') alike.add(event);
    else emit(event);
    if (one.result === 'changed' && !accepts(one.before, one.after)) wrong.push(one.before);
  };
  const replaying = replay(records, { ...options, atOnce: AT_ONCE, onReplayed });
  const count = await replaying.finally(() => {
    for (const event of alike.found()) emit(event);
  });
  const ms = Math.round(performance.now() - started);
  emit({ type: 'reviews.compared', ...count, ms, ...(build === undefined ? {} : { build }), asked: true });
  const [first] = wrong;
  if (first === undefined) return;
  const message = `The controller now answers ${wrong.length} of ${count.replayed} recorded reviews differently.`;
  throw new DevloopError('review.changed', message, { isSummary: true, hint: hint(first) });
}

/** Throws if the session does not use the port, because the session's controller then does not listen on it. */
function requirePort(port: number, ports: ReadonlyMap<number, number>, { id }: LocalSession): void {
  if (ports.size === 0 || ports.has(port)) return;
  const message = `The reviews were recorded on port ${port}, and the webhooks of session ${id} are on ${withNames('port', [...ports.keys()])}.`;
  throw new DevloopError('controller.not-ready', message, {
    hint: 'If the port of the webhooks has changed, save the set again: devloop reviews save NAME --update',
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

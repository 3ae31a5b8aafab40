import { allDone, reportWhileWaiting } from '../async.ts';
import type { Emit } from '../report/events.ts';
import { checkoutRoot } from './context/checkout.ts';
import { chooseSessions, noteOther } from './context/choose-session.ts';
import { thisMachine } from './context/local-machine.ts';
import { type LocalSession, withCrashed } from './context/local-sessions.ts';
import type { Io } from './context/options.ts';
import { askSession } from './control/client.ts';

export interface WaitOptions {
  limitMs: number;
  /** Whether the controller is built and restarted first, even if nothing has changed. */
  restarts: boolean;
  /** The id of a session on this machine; by default, those of this checkout. */
  session?: string;
}

/** How long a session can take to notice that the time is over, and to answer at all. */
const ANSWER_MS = 10_000;

/**
 * Waits until the newest code of this checkout serves. Throws what failed in its build or start, 'wait.timeout', 'session.not-ready' or
 * 'session.not-found'. Needs no cluster.
 */
export async function wait(options: WaitOptions, io: Io): Promise<void> {
  const { session: wanted } = options;
  const checkout = await checkoutRoot(io.cwd);
  const chosen = chooseSessions(await withCrashed(await thisMachine(io.env)), checkout, {
    wanted,
    forAgent: io.forAgent,
  });
  for (const one of chosen) noteOther(one, { here: checkout, wanted }, io.emit);
  const what = { for: 'the newest code to serve', limitSeconds: options.limitMs / 1000 };
  let isTold = false;
  const told: Emit = (event, ...rest) => {
    isTold ||= event.type === 'waiting';
    io.emit(event, ...rest);
  };
  const waiting = allDone(chosen.map((one) => waitFor(one, options, { ...io, emit: told })));
  // What a session says is more precise.
  await reportWhileWaiting(waiting, what, (event) => void (isTold || io.emit(event)));
}

async function waitFor(
  chosen: LocalSession,
  { limitMs, restarts }: WaitOptions,
  { emit, signal }: Io,
): Promise<void> {
  const since = performance.now();
  const asking = { emit, signal };
  if (restarts) await askSession(chosen, 'restart', {}, { ...asking, limitMs: ANSWER_MS });
  const { build } = await askSession(
    chosen,
    'wait',
    { limitMs },
    { ...asking, limitMs: limitMs + ANSWER_MS },
  );
  const known = build.id === undefined ? {} : { build: build.id };
  emit({ type: 'session.serving', session: chosen.id, ...known, ms: performance.now() - since });
}

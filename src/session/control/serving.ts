import { sleep } from '../../async.ts';
import type { Supervisor } from '../../controller/supervisor.ts';
import { DevloopError, reportedError } from '../../errors.ts';
import { timeText } from '../../phrases.ts';
import type { DevloopEvent, Emit } from '../../report/events.ts';
import type { SessionPhase } from '../../report/session-state.ts';
import type { Facts } from '../context/observed.ts';

export interface ServingParts {
  session: string;
  phase(): SessionPhase;
  supervisor(): Pick<Supervisor, 'look' | 'standing' | 'ignoredFiles'> | undefined;
  facts: Pick<Facts, 'now'>;
  /** What the session itself says that it waits for at the moment, with the progress of a build. */
  waits(): Waiting | undefined;
}

export type Waiting = Extract<DevloopEvent, { type: 'waiting' }>;

/** How long somebody waits, and who is told each second for what. */
export interface Patience {
  limitMs: number;
  signal: AbortSignal;
  emit: Emit;
}

/** A session says each second what it waits for. */
const SAID_MS = 1_500;

/** What a session waits for at the moment, by its events. */
export function createWaits(): { observe(event: DevloopEvent): void; now(): Waiting | undefined } {
  let last: { event: Waiting; at: number } | undefined;
  return {
    observe(event) {
      if (event.type === 'waiting') last = { event, at: performance.now() };
    },
    now: () => (last && performance.now() - last.at < SAID_MS ? last.event : undefined),
  };
}

/** How often the session is looked at; whoever waits learns of it this much later. */
const EVERY_MS = 10;

/**
 * Resolves when the program of the newest source serves. The session itself looks at its sources first, so what was saved before this call
 * counts. Throws what failed in the build or the start, 'session.not-ready', or 'wait.timeout'.
 */
export async function untilServing(parts: ServingParts, { limitMs, signal, emit }: Patience): Promise<void> {
  const since = performance.now();
  let told = 0;
  const tell = (what: string, seconds: number): void => {
    if (seconds > told) emit(parts.waits() ?? { type: 'waiting', for: what, seconds });
    told = seconds;
  };
  const until = async (obstacle: () => string | undefined): Promise<void> => {
    for (let what = obstacle(); what !== undefined; what = obstacle()) {
      const waitedMs = performance.now() - since;
      if (waitedMs >= limitMs) throw tooLate(limitMs, what);
      tell(what, Math.floor(waitedMs / 1000));
      if (!(await sleep(EVERY_MS, signal))) signal.throwIfAborted();
    }
  };
  await until(() => beforeReady(parts));
  let hasLooked = false;
  const looking = controllerOf(parts)
    .look()
    .finally(() => {
      hasLooked = true;
    });
  looking.catch(() => {});
  await until(() => (hasLooked ? undefined : 'the sources to be read'));
  await looking;
  await until(() => beforeServing(parts));
}

function beforeReady(parts: ServingParts): string | undefined {
  if (phaseOf(parts) !== 'starting') return undefined;
  // At a terminal, `up` waits for the fix of a first build that failed.
  const standing = parts.supervisor()?.standing();
  if (standing?.is === 'failed') throw failure(standing.problem);
  return 'the session to be ready';
}

function beforeServing(parts: ServingParts): string | undefined {
  phaseOf(parts);
  const controller = controllerOf(parts);
  if (controller.ignoredFiles().length > 0) throw notReady(parts, IGNORED);
  const standing = controller.standing();
  if (standing.is === 'failed') throw failure(standing.problem);
  const { loss, silence } = parts.facts.now;
  return standing.is === 'pending' ? standing.for : (loss?.problem ?? silence);
}

function phaseOf(parts: ServingParts): SessionPhase {
  const phase = parts.phase();
  if (phase === 'ending') throw notReady(parts, 'is ending, and is restoring everything');
  return phase;
}

function controllerOf(parts: ServingParts): NonNullable<ReturnType<ServingParts['supervisor']>> {
  const controller = parts.supervisor();
  if (controller === undefined) throw notReady(parts, NO_CONTROLLER);
  return controller;
}

const IGNORED = 'ignores changed files until the key p follows them again, and some have changed';
export const NO_CONTROLLER = 'starts no controller: `devloop up` runs with --no-controller';

function notReady({ session }: ServingParts, why: string): DevloopError {
  return new DevloopError('session.not-ready', `Session ${session} ${why}.`);
}

type Failed = Extract<ReturnType<Supervisor['standing']>, { is: 'failed' }>;

function failure({ error = '', message, hint }: Failed['problem']): DevloopError {
  return reportedError({ code: error, message, hint }, 'controller.exited');
}

function tooLate(limitMs: number, what: string): DevloopError {
  const message = `The newest code did not serve within ${timeText(limitMs / 1000)}. devloop still waits for: ${what}.`;
  return new DevloopError('wait.timeout', message, {
    hint: 'To see what the controller prints: devloop logs',
  });
}

import { DevloopError } from '../../errors.ts';
import type { Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { LocalSession } from './local-sessions.ts';
import type { Io } from './options.ts';

export interface Choice {
  /** The id of a session; by default, that of this checkout's session. */
  wanted: string | undefined;
  forAgent: Io['forAgent'];
  /** Whether a crashed session will do if none is running, because only its files are read. */
  allowsCrashed?: boolean;
  /** What else the error suggests if no session is running. */
  otherwise?: string;
}

/**
 * The session that was named, the one of this checkout, or the only one on this machine. `all` includes those that have crashed. Throws
 * 'session.not-found'.
 */
export function chooseSession(all: LocalSession[], checkout: string, choice: Choice): LocalSession {
  const allowed = allowedOf(all, checkout, choice);
  return onlyOne(candidatesOf(allowed, checkout, choice), allowed, choice);
}

/** Like `chooseSession`, but returns all sessions of this checkout: one `up` can run several. */
export function chooseSessions(all: LocalSession[], checkout: string, choice: Choice): LocalSession[] {
  const allowed = allowedOf(all, checkout, choice);
  const here = candidatesOf(allowed, checkout, choice);
  const areOfCheckout = here.length > 0 && here.every((one) => one.checkout === checkout);
  return areOfCheckout ? here : [onlyOne(here, allowed, choice)];
}

/** Those that may be chosen, and that an error may name. */
function allowedOf(all: LocalSession[], here: string, { forAgent }: Choice): LocalSession[] {
  return forAgent ? all.filter(({ checkout }) => checkout === here) : all;
}

function candidatesOf(
  all: LocalSession[],
  checkout: string,
  { wanted, allowsCrashed }: Choice,
): LocalSession[] {
  const meant = all.filter((one) => (wanted === undefined ? one.checkout === checkout : one.id === wanted));
  if (meant.some(isRunning)) return meant.filter(isRunning);
  if (allowsCrashed && meant.length > 0) return meant;
  // If the session of this checkout has crashed, nobody means that of another one.
  return wanted === undefined && meant.length === 0 ? all.filter(isRunning) : [];
}

/** Says which session is meant if it is that of another checkout, and the user has not named it. */
export function noteOther(
  { id, checkout }: LocalSession,
  { here, wanted }: { here: string; wanted: string | undefined },
  emit: Emit,
): void {
  if (wanted === undefined && checkout !== here) emit(notice('session.elsewhere', { session: id, checkout }));
}

function isRunning({ hasCrashed }: LocalSession): boolean {
  return !hasCrashed;
}

function onlyOne(candidates: LocalSession[], all: LocalSession[], choice: Choice): LocalSession {
  if (candidates.length === 1) return candidates[0]!;
  if (candidates.length === 0) throw noneRuns(all, choice);
  const message = candidates.some(isRunning)
    ? 'Several sessions are running on this machine.'
    : 'Several sessions of this checkout have crashed.';
  throw new DevloopError('session.not-found', message, { hint: listOf(candidates) });
}

function noneRuns(all: LocalSession[], { wanted, forAgent, otherwise }: Choice): DevloopError {
  const crashed = all.filter((one) => !isRunning(one) && (wanted === undefined || one.id === wanted));
  const running = all.filter(isRunning);
  const where = forAgent || running.length > 0 ? 'in this checkout' : 'on this machine';
  const none =
    wanted === undefined
      ? `No session is running ${where}.`
      : `Session ${wanted} is not running ${forAgent ? 'in this checkout' : 'on this machine'}.`;
  const found = crashed.map(({ id, checkout }) => `Session ${id} of ${checkout} has crashed.`);
  const hint = [nextStep(crashed, running), running.length > 0 ? undefined : otherwise];
  return new DevloopError('session.not-found', [none, ...found].join(' '), {
    hint: hint.filter(Boolean).join('\n'),
  });
}

function nextStep(crashed: LocalSession[], running: LocalSession[]): string {
  const steps = [
    ...(crashed.length > 0
      ? [running.length > 0 ? RESTORE_ONE : 'To restore the cluster: devloop down']
      : []),
    ...(running.length > 0 ? [listOf(running)] : []),
  ];
  return steps.join('\n') || 'To start one: devloop up';
}

/** Without a name, `down` also ends the sessions that run. */
const RESTORE_ONE =
  'To restore the cluster, with the name that devloop status shows: devloop down --deployment NAMESPACE/NAME';

function listOf(sessions: LocalSession[]): string {
  return ['Choose one of these with --session:', ...sessions.map(lineOf)].join('\n  ');
}

function lineOf({ id, operator, checkout }: LocalSession): string {
  return [id, operator, checkout].filter(Boolean).join('  ');
}

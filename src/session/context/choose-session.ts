import { DevloopError } from '../../errors.ts';
import type { LocalSession } from './local-sessions.ts';

export interface Choice {
  /** The id of a session; by default, that of this checkout's session. */
  wanted: string | undefined;
  /** What else the error suggests if no session is running. */
  otherwise?: string;
}

/** The session that was named, the one of this checkout, or the only one on this machine. Throws 'session.not-found'. */
export function chooseSession(all: LocalSession[], checkout: string, choice: Choice): LocalSession {
  return onlyOne(candidatesOf(all, checkout, choice), all, choice);
}

/** Like `chooseSession`, but returns all sessions of this checkout: one `up` can run several. */
export function chooseSessions(all: LocalSession[], checkout: string, choice: Choice): LocalSession[] {
  const here = candidatesOf(all, checkout, choice);
  const areOfCheckout = here.length > 0 && here.every((one) => one.checkout === checkout);
  return areOfCheckout ? here : [onlyOne(here, all, choice)];
}

function candidatesOf(all: LocalSession[], checkout: string, { wanted }: Choice): LocalSession[] {
  if (wanted !== undefined) return all.filter(({ id }) => id === wanted);
  const here = all.filter((one) => one.checkout === checkout);
  return here.length > 0 ? here : all;
}

function onlyOne(
  candidates: LocalSession[],
  all: LocalSession[],
  { wanted, otherwise }: Choice,
): LocalSession {
  if (candidates.length === 1) return candidates[0]!;
  const list = ['Choose one of these with --session:', ...all.map(lineOf)].join('\n  ');
  if (candidates.length > 1)
    throw new DevloopError('session.not-found', 'Several sessions are running on this machine.', {
      hint: list,
    });
  const none =
    wanted === undefined
      ? 'No session is running on this machine.'
      : `Session ${wanted} is not running on this machine.`;
  const start = ['Start one with devloop up.', otherwise, AFTER_A_CRASH].filter(Boolean).join('\n');
  throw new DevloopError('session.not-found', none, {
    hint: all.length > 0 ? list : start,
  });
}

function lineOf({ id, operator, checkout }: LocalSession): string {
  return [id, operator, checkout].filter(Boolean).join('  ');
}

const AFTER_A_CRASH = 'If a session has crashed, restore the cluster with devloop down.';

import { checkoutRoot } from './checkout.ts';
import { type Choice, chooseSession, noteOther } from './choose-session.ts';
import { thisMachine } from './local-machine.ts';
import { type LocalSession, withCrashed } from './local-sessions.ts';
import type { Io } from './options.ts';

/** The session on this machine that a command is about. Says which one if it is that of another checkout. Throws 'session.not-found'. */
export async function sessionHere(io: Io, chosenBy: Omit<Choice, 'forAgent'>): Promise<LocalSession> {
  const { cwd, env, emit, forAgent } = io;
  const choice = { ...chosenBy, forAgent };
  const here = await checkoutRoot(cwd);
  const chosen = chooseSession(await withCrashed(await thisMachine(env)), here, choice);
  noteOther(chosen, { here, wanted: choice.wanted }, emit);
  return chosen;
}

import { messageOf } from '../errors.ts';
import { notice } from '../report/notices/catalogue.ts';
import { checkoutRoot } from './context/checkout.ts';
import { chooseSessions, noteOther } from './context/choose-session.ts';
import { thisMachine } from './context/local-machine.ts';
import { type LocalSession, withCrashed } from './context/local-sessions.ts';
import type { HoldOptions, Io } from './context/options.ts';
import { askSession } from './control/client.ts';

const LIMIT_MS = 10_000;

/** Holds the reviews of this checkout's sessions, or releases them. Needs no cluster. */
export async function hold({ on, session: wanted }: HoldOptions, io: Io): Promise<void> {
  const all = await withCrashed(await thisMachine(io.env));
  const checkout = await checkoutRoot(io.cwd);
  const chosen = chooseSessions(all, checkout, { wanted, forAgent: io.forAgent });
  for (const one of chosen) noteOther(one, { here: checkout, wanted }, io.emit);
  const results = await Promise.allSettled(chosen.map((one) => holdOne(one, on, io)));
  const failed = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason);
  // If there are several Deployments, usually only one has webhooks, so the requests to the sessions of the others fail.
  if (failed.length === results.length) throw failed[0];
  for (const error of failed)
    io.emit(notice('action.refused', { action: on ? 'hold' : 'release', cause: messageOf(error) }));
}

async function holdOne(chosen: LocalSession, on: boolean, { emit, signal }: Io): Promise<void> {
  const asking = { emit, signal, limitMs: LIMIT_MS };
  const session = chosen.id;
  if (on) {
    await askSession(chosen, 'hold', {}, asking);
    emit({ type: 'reviews.held', session });
  } else {
    const { waiting } = await askSession(chosen, 'release', {}, asking);
    emit({ type: 'reviews.released', session, waiting });
  }
}

import { allDone } from '../async.ts';
import { chooseSessions } from './context/choose-session.ts';
import { checkoutRoot } from './context/context.ts';
import { thisMachine } from './context/local-machine.ts';
import type { HoldOptions, Io } from './context/options.ts';
import { type LocalSession, localSessions } from './context/session-directories.ts';
import { askSession } from './control/client.ts';

const LIMIT_MS = 10_000;

/** Makes the reviews of the sessions of this checkout wait, or lets them go on. Needs no cluster. */
export async function hold({ on, session: wanted }: HoldOptions, io: Io): Promise<void> {
  const all = await localSessions(await thisMachine(io.env));
  const chosen = chooseSessions(all, checkoutRoot(io.cwd), { wanted });
  await allDone(chosen.map((one) => holdOne(one, on, io)));
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

import { chooseSession } from './context/choose-session.ts';
import { checkoutRoot } from './context/context.ts';
import { thisMachine } from './context/local-machine.ts';
import type { HoldOptions, Io } from './context/options.ts';
import { localSessions } from './context/session-directories.ts';
import { askSession } from './control/client.ts';

const LIMIT_MS = 10_000;

/** Makes the reviews of a session on this machine wait, or lets them go on. Needs no cluster. */
export async function hold({ on, session: wanted }: HoldOptions, io: Io): Promise<void> {
  const all = await localSessions(await thisMachine(io.env));
  const chosen = chooseSession(all, checkoutRoot(io.cwd), { wanted });
  const { emit, signal } = io;
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

import { checkoutRoot } from './context/checkout.ts';
import { chooseSession, noteOther } from './context/choose-session.ts';
import { thisMachine } from './context/local-machine.ts';
import { withCrashed } from './context/local-sessions.ts';
import type { Io } from './context/options.ts';
import { askSession } from './control/client.ts';
import type { FaultChange } from './faults/session-faults.ts';

const LIMIT_MS = 10_000;

export interface FaultOptions {
  change: FaultChange;
  session?: string;
}

/** Changes or lists the faults of a running session on this machine. Needs no cluster. */
export async function fault({ change, session: wanted }: FaultOptions, io: Io): Promise<void> {
  const { emit, signal, cwd } = io;
  const all = await withCrashed(await thisMachine(io.env));
  const checkout = await checkoutRoot(cwd);
  const chosen = chooseSession(all, checkout, { wanted });
  noteOther(chosen, { here: checkout, wanted }, emit);
  const faults = await askSession(chosen, 'faults', change, { emit, signal, limitMs: LIMIT_MS });
  emit({ type: 'faults.listed', session: chosen.id, faults });
}

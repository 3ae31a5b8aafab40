import type { Io } from './context/options.ts';
import { sessionHere } from './context/session-here.ts';
import { askSession } from './control/client.ts';
import { type FaultChange, warnOfEverything } from './faults/session-faults.ts';

const LIMIT_MS = 10_000;

export interface FaultOptions {
  change: FaultChange;
  session?: string;
}

/** Changes or lists the faults of a running session on this machine. Needs no cluster. */
export async function fault({ change, session: wanted }: FaultOptions, io: Io): Promise<void> {
  const { emit, signal } = io;
  const chosen = await sessionHere(io, { wanted });
  const faults = await askSession(chosen, 'faults', change, { emit, signal, limitMs: LIMIT_MS });
  emit({ type: 'faults.listed', session: chosen.id, faults });
  const added = faults.slice(faults.length - (change.add ?? []).length);
  warnOfEverything(
    added.map(({ rule }) => rule),
    emit,
  );
}

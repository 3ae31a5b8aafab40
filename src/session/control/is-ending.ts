import { join } from 'node:path';
import type { LocalMachine } from '../context/local-machine.ts';
import type { Io } from '../context/options.ts';
import { askSession } from './client.ts';

const ANSWER_MS = 1_000;

/**
 * Whether a session of this machine is ending already: a second signal would end it at once, before it has restored everything. Its Lease may
 * not say so yet.
 */
export async function isEnding(
  { stateDirectory }: LocalMachine,
  id: string,
  { emit, signal }: Pick<Io, 'emit' | 'signal'>,
): Promise<boolean> {
  const session = { id, directory: join(stateDirectory, id) };
  return await askSession(session, 'state', {}, { emit, signal, limitMs: ANSWER_MS }).then(
    ({ phase }) => phase === 'ending',
    () => {
      signal.throwIfAborted();
      return false;
    },
  );
}

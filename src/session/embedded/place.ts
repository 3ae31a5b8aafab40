import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { DevloopError } from '../../errors.ts';
import type { Emit } from '../../report/events.ts';
import { isRunning, type LocalMachine } from '../context/local-machine.ts';
import { localSessions, type Owner, ownerOf, ownerOfSession } from '../context/local-sessions.ts';
import { claimDirectory, endOrphans } from '../context/session-directories.ts';

/** The ports of embedded API servers. */
const PORTS = { from: 20_000, count: 10_000 };

/** What a checkout's API servers have on this machine. Two checkouts have nothing in common. */
export interface EmbeddedPlace {
  /** Exists while a session runs, so that there is only one. */
  running: string;
  /** Stays, so that other programs can be configured with it. */
  kubeconfig: string;
  /** Used if it is free. */
  port: number;
}

export function placeOf({ stateDirectory }: LocalMachine, checkout: string): EmbeddedPlace {
  const hash = createHash('sha256').update(checkout).digest();
  const id = hash.toString('hex').slice(0, 16);
  return {
    running: join(stateDirectory, `${PREFIX}${id.slice(0, 8)}`),
    // A directory with another name would be a session's.
    kubeconfig: join(stateDirectory, '.embedded', `${id}.kubeconfig`),
    port: PORTS.from + (hash.readUInt32BE() % PORTS.count),
  };
}

const PREFIX = 'embedded-';

/**
 * Creates the directory of the session's API server, after what a dead session has left. Throws `session.held` if there is another session of
 * the checkout. The kernel decides who is first: a directory that is not empty cannot be replaced by another one.
 */
export async function claimPlace(
  machine: LocalMachine,
  checkout: string,
  emit: Emit,
): Promise<EmbeddedPlace> {
  await endOrphans(machine, emit, 'verify');
  const place = placeOf(machine, checkout);
  const name = `${PREFIX}${place.running.slice(-8)}`;
  await claimDirectory(machine, name, { checkout, verifies: true }).catch(async (error: unknown) => {
    const owner = ownerOf(place.running);
    throw owner === undefined ? error : await held(machine, owner);
  });
  return place;
}

async function held(machine: LocalMachine, owner: Owner): Promise<DevloopError> {
  const { pid, host, checkout } = owner;
  const session = (await localSessions(machine)).find(({ id }) => ownerOfSession(machine, id)?.pid === pid);
  const isHere = (await isRunning(owner)) === true;
  const who = `${session ? `Session ${session.id}` : 'A devloop that is starting'} (pid ${pid}${isHere ? '' : ` on ${host}`})`;
  return new DevloopError(
    'session.held',
    `${who} already runs the operator of ${checkout} in an API server of its own.`,
    { hint: isHere ? `Stop it with Ctrl-C in its terminal, or: kill ${pid}` : 'devloop down --embedded' },
  );
}

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { otherWriter } from '../../machine/own-files.ts';
import { isRunning, type LocalMachine } from './local-machine.ts';

/** The file that names the owner of a session's directory. It exists as soon as the directory does. */
export const OWNER = 'devloop.json';

export interface Owner {
  host: string;
  pid: number;
  processStart: string;
  /** The root of the checkout. */
  checkout: string;
  /** The manager that the session takes over; one checkout can have several. */
  operator?: string;
  /** How programs reach the API server of a session that has one of its own. */
  embedded?: EmbeddedCluster;
  /** Set if the directory belongs to `reviews verify`, which runs a manager of its own, and not to a session. */
  verifies?: true;
}

/**
 * The ids of all sessions in the state directory. Returns none if other users can write to it, because they could name any process in its
 * records.
 */
export function sessionIds({ stateDirectory }: LocalMachine): string[] {
  if (otherWriter(stateDirectory) !== undefined) return [];
  return namesIn(stateDirectory).filter((name) => !name.startsWith('.'));
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

export interface EmbeddedCluster {
  kubeconfig: string;
  context: string;
}

/** A session that was started on this machine. */
export interface LocalSession {
  id: string;
  directory: string;
  checkout: string;
  /** The manager that it took over, if that is known. */
  operator?: string;
  /** Set if its API server is its own. */
  embedded?: EmbeddedCluster;
  /** Its process is gone without having ended it. Its recording stays until `down` or the next `up` removes it. */
  hasCrashed?: true;
}

export async function localSessions(machine: LocalMachine): Promise<LocalSession[]> {
  return (await withCrashed(machine)).filter(({ hasCrashed }) => !hasCrashed);
}

/** The sessions that run on this machine, and those that have crashed here. */
export async function withCrashed(machine: LocalMachine): Promise<LocalSession[]> {
  const found = sessionIds(machine)
    .sort()
    .map(async (id): Promise<LocalSession[]> => {
      const directory = join(machine.stateDirectory, id);
      const owner = ownerOf(directory);
      if (owner === undefined || owner.verifies || owner.host !== machine.host) return [];
      const runs = await isRunning(owner);
      if (runs === undefined) return [];
      const { checkout, operator, embedded } = owner;
      const state = runs ? {} : { hasCrashed: true as const };
      return [{ id, directory, checkout, operator, ...(embedded && { embedded }), ...state }];
    });
  return (await Promise.all(found)).flat();
}

/** Whether a session ran on this machine and its process is gone; false if nothing is known about it. */
export async function isKnownDead(machine: LocalMachine, sessionId: string): Promise<boolean> {
  const owner = ownerOfSession(machine, sessionId);
  return owner?.host === machine.host && (await isRunning(owner)) === false;
}

/** As `newSessionId` makes it. A label in a cluster can say anything else. */
export function isSessionId(text: string): boolean {
  return /^[0-9a-f]{8}$/.test(text);
}

/** The owner of a session that the cluster names. */
export function ownerOfSession(
  { stateDirectory }: Pick<LocalMachine, 'stateDirectory'>,
  sessionId: string,
): Owner | undefined {
  return isSessionId(sessionId) ? ownerOf(join(stateDirectory, sessionId)) : undefined;
}

export function ownerOf(directory: string): Owner | undefined {
  try {
    const owner: unknown = JSON.parse(readFileSync(join(directory, OWNER), 'utf8'));
    return isOwner(owner) ? owner : undefined;
  } catch {
    return undefined;
  }
}

/** Checks the contents of the file: after a crash of the machine, it can contain anything. */
function isOwner(value: unknown): value is Owner {
  const { host, pid, processStart } = (value ?? {}) as Partial<Owner>;
  return (
    typeof host === 'string' && Number.isSafeInteger(pid) && pid! > 0 && typeof processStart === 'string'
  );
}

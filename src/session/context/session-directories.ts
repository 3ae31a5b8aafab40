import { randomBytes } from 'node:crypto';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { endOrphan, orphanPid } from '../../controller/orphan.ts';
import { removeLocalFiles } from '../../local/key-pair-files.ts';
import { makePath, otherWriter, requireWritable, writeBelow } from '../../machine/own-files.ts';
import type { Emit } from '../../report/events.ts';
import { isRunning, type LocalMachine } from './local-machine.ts';

const OWNER = 'devloop.json';

interface Owner {
  host: string;
  pid: number;
  processStart: string;
  /** The root of the checkout. */
  checkout: string;
  /** Of the manager that it takes over; one checkout can have several. */
  operator?: string;
}

/** Short enough for labels and names, and random enough to be unique in a cluster. */
export function newSessionId(): string {
  return randomBytes(4).toString('hex');
}

/**
 * Creates a session's directory. It appears with its owner's name already in it, so that another devloop that starts at the same
 * moment does not mistake it for the directory of a dead session.
 */
export async function claimDirectory(
  machine: LocalMachine,
  sessionId: string,
  of: Pick<Owner, 'checkout' | 'operator'>,
): Promise<string> {
  const { host, processStart } = machine;
  const owner: Owner = { host, pid: process.pid, processStart, ...of };
  const directory = join(machine.stateDirectory, sessionId);
  const unclaimed = join(machine.stateDirectory, `.${sessionId}`);
  await requireWritable(machine.stateDirectory);
  const claim = async (): Promise<void> => {
    await makePath(unclaimed);
    await writeFile(join(unclaimed, OWNER), JSON.stringify(owner), { mode: 0o600 });
    await rename(unclaimed, directory);
  };
  try {
    await writeBelow(machine.stateDirectory, claim);
    return directory;
  } catch (error) {
    await rm(unclaimed, { recursive: true, force: true }).catch(() => {});
    throw error;
  }
}

/** Where a session records the controller that it runs. */
export function controllerRecord(directory: string): string {
  return join(directory, 'controller.json');
}

/** Stops the controllers of devloop processes that were killed, and removes the files of those sessions. */
export async function endOrphans(machine: LocalMachine, emit: Emit): Promise<void> {
  for (const directory of await abandonedDirectories(machine)) {
    const ended = await endOrphan(controllerRecord(directory));
    if (ended) {
      const message = `Stopped the controller of a killed session (pid ${ended.pid}: ${ended.command.join(' ')}).`;
      emit({ type: 'note', message });
    }
    await removeLocalFiles(directory);
  }
}

/** The controllers that `endOrphans` would stop. */
export async function orphanPids(machine: LocalMachine): Promise<number[]> {
  const directories = await abandonedDirectories(machine);
  const pids = await Promise.all(directories.map((directory) => orphanPid(controllerRecord(directory))));
  return pids.filter((pid) => pid !== undefined);
}

/** The controllers that sessions of this machine run. */
export async function controllersOf(machine: LocalMachine, sessionIds: string[]): Promise<number[]> {
  const records = sessionIds.map((sessionId) => controllerRecord(join(machine.stateDirectory, sessionId)));
  const pids = await Promise.all(records.map((record) => orphanPid(record)));
  return pids.filter((pid) => pid !== undefined);
}

async function abandonedDirectories(machine: LocalMachine): Promise<string[]> {
  const ids = await sessionIds(machine);
  const directories = ids.map((id) => join(machine.stateDirectory, id));
  const abandoned = await Promise.all(directories.map((directory) => isAbandoned(machine, directory)));
  return directories.filter((_, index) => abandoned[index]);
}

/** Several machines may share a home directory without seeing each other's processes: each leaves the others' sessions alone. */
async function isAbandoned(machine: LocalMachine, directory: string): Promise<boolean> {
  const owner = await ownerOf(directory);
  if (owner === undefined) return true;
  if ((await isRunning(owner)) !== false) return false;
  // A machine's name may change, but a controller that runs here was started here.
  return owner.host === machine.host || (await orphanPid(controllerRecord(directory))) !== undefined;
}

/** None where others can write: such a directory is not devloop's, and its records could name anything. */
async function sessionIds({ stateDirectory }: LocalMachine): Promise<string[]> {
  if ((await otherWriter(stateDirectory)) !== undefined) return [];
  const names = await readdir(stateDirectory).catch(() => []);
  return names.filter((name) => !name.startsWith('.'));
}

/** A session that runs on this machine. */
export interface LocalSession {
  id: string;
  directory: string;
  checkout: string;
  /** Of the manager that it took over, where that is known. */
  operator?: string;
}

export async function localSessions(machine: LocalMachine): Promise<LocalSession[]> {
  const found = (await sessionIds(machine)).sort().map(async (id): Promise<LocalSession[]> => {
    const directory = join(machine.stateDirectory, id);
    const owner = await ownerOf(directory);
    const isHere = owner?.host === machine.host && (await isRunning(owner)) === true;
    const { checkout, operator } = owner ?? { checkout: '', operator: undefined };
    return isHere ? [{ id, directory, checkout, ...(operator === undefined ? {} : { operator }) }] : [];
  });
  return (await Promise.all(found)).flat();
}

/** Whether a session ran on this machine and its process is gone; false also if nothing is known about it. */
export async function isKnownDead(machine: LocalMachine, sessionId: string): Promise<boolean> {
  const owner = await ownerOf(join(machine.stateDirectory, sessionId));
  return owner?.host === machine.host && (await isRunning(owner)) === false;
}

async function ownerOf(directory: string): Promise<Owner | undefined> {
  try {
    const owner: unknown = JSON.parse(await readFile(join(directory, OWNER), 'utf8'));
    return isOwner(owner) ? owner : undefined;
  } catch {
    return undefined;
  }
}

/** A crash of the machine can leave anything in a file. */
function isOwner(value: unknown): value is Owner {
  const { host, pid, processStart } = (value ?? {}) as Partial<Owner>;
  return (
    typeof host === 'string' && Number.isSafeInteger(pid) && pid! > 0 && typeof processStart === 'string'
  );
}

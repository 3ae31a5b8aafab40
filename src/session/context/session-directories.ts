import { randomBytes } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { endOrphan, orphanPid } from '../../controller/orphan.ts';
import { removeLocalFiles } from '../../local/key-pair-files.ts';
import { makePath, requireWritable, writeBelow } from '../../machine/own-files.ts';
import type { Emit } from '../../report/events.ts';
import { isRunning, type LocalMachine } from './local-machine.ts';
import { OWNER, type Owner, ownerOf, sessionIds } from './local-sessions.ts';

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

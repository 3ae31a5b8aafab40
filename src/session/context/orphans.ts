import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { endOrphan, orphanPid } from '../../controller/orphan.ts';
import { removeLocalFiles } from '../../local/key-pair-files.ts';
import { startTimeOf } from '../../machine/system.ts';
import type { Emit } from '../../report/events.ts';
import { controllerRecord, isRunning, type LocalMachine, sessionDirectories } from './machine-state.ts';

const OWNER = 'devloop.json';

interface Owner {
  host: string;
  pid: number;
  processStart: string;
}

/**
 * Makes a session's directory. It comes into being with the name of its owner in it, so that another devloop that begins right
 * now does not take it for one that a dead session left.
 */
export async function claimDirectory(machine: LocalMachine, session: string): Promise<string> {
  const processStart = (await startTimeOf(process.pid)) ?? '';
  const owner: Owner = { host: machine.host, pid: process.pid, processStart };
  const directory = join(machine.stateDirectory, session);
  const unclaimed = join(machine.stateDirectory, `.${session}`);
  await mkdir(unclaimed, { recursive: true, mode: 0o700 });
  await writeFile(join(unclaimed, OWNER), JSON.stringify(owner), { mode: 0o600 });
  await rename(unclaimed, directory);
  return directory;
}

/** Ends controllers whose devloop was killed, and removes the files of those sessions. */
export async function endOrphans(machine: LocalMachine, emit: Emit): Promise<void> {
  for (const directory of await sessionDirectories(machine)) {
    if (!(await isLeftBehind(machine, directory))) continue;
    const ended = await endOrphan(controllerRecord(directory));
    if (ended)
      emit({
        type: 'note',
        message: `Ended the controller that a killed session left behind (pid ${ended.pid}: ${ended.command.join(' ')}).`,
      });
    await removeLocalFiles(directory);
  }
}

/** Controllers whose devloop was killed: the next `up` or `down` ends them. */
export async function orphanPids(machine: LocalMachine): Promise<number[]> {
  const pids: number[] = [];
  for (const directory of await sessionDirectories(machine)) {
    const isLeft = await isLeftBehind(machine, directory);
    const pid = isLeft ? await orphanPid(controllerRecord(directory)) : undefined;
    if (pid !== undefined) pids.push(pid);
  }
  return pids;
}

/** Machines may share a home, and one does not see the other's processes: what is not this one's is left alone. */
async function isLeftBehind(machine: LocalMachine, directory: string): Promise<boolean> {
  const owner = await ownerOf(directory);
  if (owner === undefined) return true;
  if (await isRunning(owner.pid, owner.processStart)) return false;
  // The name of a machine may change; a controller that runs here was started here.
  return owner.host === machine.host || (await orphanPid(controllerRecord(directory))) !== undefined;
}

/** Whether a session ran on this machine and its process is gone; false also where nothing is known of it. */
export async function isKnownDead(machine: LocalMachine, session: string): Promise<boolean> {
  const owner = await ownerOf(join(machine.stateDirectory, session));
  return owner?.host === machine.host && !(await isRunning(owner.pid, owner.processStart));
}

async function ownerOf(directory: string): Promise<Owner | undefined> {
  try {
    return JSON.parse(await readFile(join(directory, OWNER), 'utf8'));
  } catch {
    return undefined;
  }
}

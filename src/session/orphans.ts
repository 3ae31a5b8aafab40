import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { endOrphan, orphanPid } from '../controller/orphan.ts';
import { startTimeOf } from '../controller/process-identity.ts';
import type { Emit } from '../report/events.ts';
import { controllerRecord, isRunning, otherSessions, type Place, removeDirectory } from './place.ts';

const OWNER = 'devloop.json';

/** Writes which devloop process owns a session's directory. */
export async function claimDirectory(directory: string): Promise<void> {
  const owner = { pid: process.pid, processStart: (await startTimeOf(process.pid)) ?? '' };
  await writeFile(join(directory, OWNER), JSON.stringify(owner), { mode: 0o600 });
}

/** Ends controllers whose devloop was killed, and removes the files of those sessions. */
export async function endOrphans(place: Place, emit: Emit): Promise<void> {
  for (const { directory } of await otherSessions(place)) {
    if (await hasLivingOwner(directory)) continue;
    const ended = await endOrphan(controllerRecord(directory));
    if (ended)
      emit({
        type: 'note',
        message: `Ended the controller that a killed session left behind (pid ${ended.pid}: ${ended.command.join(' ')}).`,
      });
    await removeDirectory(directory);
  }
}

/** Controllers whose devloop was killed: the next `up` or `down` ends them. */
export async function orphanPids(place: Place): Promise<number[]> {
  const pids: number[] = [];
  for (const { directory } of await otherSessions(place)) {
    const pid = (await hasLivingOwner(directory)) ? undefined : await orphanPid(controllerRecord(directory));
    if (pid !== undefined) pids.push(pid);
  }
  return pids;
}

async function hasLivingOwner(directory: string): Promise<boolean> {
  const owner = await ownerOf(directory);
  return owner !== undefined && (await isRunning(owner.pid, owner.processStart));
}

/** Whether a session ran on this machine and its process is gone; false also where nothing is known of it. */
export async function isKnownDead(place: Place, session: string): Promise<boolean> {
  const owner = await ownerOf(join(place.stateDirectory, session));
  return owner !== undefined && !(await isRunning(owner.pid, owner.processStart));
}

async function ownerOf(directory: string): Promise<{ pid: number; processStart: string } | undefined> {
  try {
    return JSON.parse(await readFile(join(directory, OWNER), 'utf8'));
  } catch {
    return undefined;
  }
}

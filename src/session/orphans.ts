import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { endOrphan } from '../controller/orphan.ts';
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

async function hasLivingOwner(directory: string): Promise<boolean> {
  try {
    const { pid, processStart } = JSON.parse(await readFile(join(directory, OWNER), 'utf8')) as {
      pid: number;
      processStart: string;
    };
    return await isRunning(pid, processStart);
  } catch {
    return false;
  }
}

/** Removes what the machines of ended test files left behind. `node remove.ts DIRECTORY…` does so in a process of its own. */
import { readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { cgroupsOf, removeCgroup } from '../cluster/cgroups.ts';

/**
 * The name of a machine's directory is this, the pid of the run, a hyphen, and random letters. It is short because the paths of sockets
 * must be short.
 */
export const PREFIX = 'dlt-';

export async function removeMachine(directory: string): Promise<void> {
  for (const cgroup of await cgroupsOf(basename(directory))) await removeCgroup(cgroup);
  await rm(directory, { recursive: true, force: true, maxRetries: 10 });
}

/** Does so for runs whose process was killed. */
export async function removeAbandoned(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = name.startsWith(PREFIX) ? Number.parseInt(name.slice(PREFIX.length), 10) : process.pid;
    if (!isRunning(pid)) await removeMachine(join(tmpdir(), name));
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

if (import.meta.main) for (const directory of process.argv.slice(2)) await removeMachine(directory);

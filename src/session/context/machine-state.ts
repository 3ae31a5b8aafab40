import { createHash, randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { homedir, hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import type { Holder } from '../../cluster/takeover/lease.ts';
import type { Here } from '../../cluster/takeover/lease-holder.ts';
import { startTimeOf } from '../../machine/system.ts';
import type { ObjectName } from '../../report/events.ts';

/** This user on this machine: who holds a session, and where its local files lie. */
export interface LocalMachine {
  user: string;
  host: string;
  /** Local state of all sessions. It may be lost without harm: what matters stands in the cluster. */
  stateDirectory: string;
}

export function thisMachine(env: Record<string, string | undefined>): LocalMachine {
  const base = env.XDG_STATE_HOME || join(env.HOME ?? homedir(), '.local', 'state');
  return { user: env.USER || userInfo().username, host: hostname(), stateDirectory: join(base, 'devloop') };
}

/** Short enough for labels and names, random enough for every session of a cluster. */
export function newSessionId(): string {
  return randomBytes(4).toString('hex');
}

export async function holderHere(
  machine: LocalMachine,
  targets: ObjectName[],
  route: string,
): Promise<Holder> {
  return {
    user: machine.user,
    host: machine.host,
    pid: process.pid,
    processStart: (await startTimeOf(process.pid)) ?? '',
    since: new Date().toISOString(),
    route,
    targets,
    health: 'starting',
  };
}

/** How Leases of this machine's sessions are recognised: two machines may share a name, but not a boot. */
export async function here(machine: LocalMachine): Promise<Here> {
  const boot = bootOf((await startTimeOf(process.pid)) ?? '');
  return {
    isHere: (holder) => holder.host === machine.host && bootOf(holder.processStart) === boot,
    isRunning: (holder) => isRunning(holder.pid, holder.processStart),
  };
}

function bootOf(processStart: string): string {
  return processStart.includes('/') ? processStart.slice(0, processStart.indexOf('/')) : '';
}

/** Runs the very process that was named? A pid alone may have gone to somebody else. */
export async function isRunning(pid: number, processStart: string): Promise<boolean> {
  const start = await startTimeOf(pid);
  return start !== undefined && (processStart === '' || start === processStart);
}

export function controllerRecord(directory: string): string {
  return join(directory, 'controller.json');
}

/** Directories of sessions that run here, or ran. */
export async function sessionDirectories(machine: LocalMachine): Promise<string[]> {
  const names = await readdir(machine.stateDirectory).catch(() => []);
  return names.filter((name) => !name.startsWith('.')).map((name) => join(machine.stateDirectory, name));
}

/** The newest program of a checkout outlives its session, as a cache. */
export function keptProgram(env: Record<string, string | undefined>, root: string): string {
  const base = env.XDG_CACHE_HOME || join(env.HOME ?? homedir(), '.cache');
  return join(base, 'devloop', 'programs', createHash('sha256').update(root).digest('hex').slice(0, 16));
}

import { homedir, hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import type { Here } from '../../cluster/takeover/lease-holder.ts';
import { startTimeOf } from '../../machine/system.ts';

/** This user on this machine, and how sessions that run on it are recognised. */
export interface LocalMachine extends Here {
  user: string;
  host: string;
  /** When this process started, as `startTimeOf` writes it; empty where the system does not say. */
  processStart: string;
  /** Local state of all sessions. Losing it does no harm: everything that matters is in the cluster. */
  stateDirectory: string;
}

export async function thisMachine(env: Record<string, string | undefined>): Promise<LocalMachine> {
  const base = env.XDG_STATE_HOME || join(env.HOME ?? homedir(), '.local', 'state');
  const host = hostname();
  const processStart = startTimeOf(process.pid) ?? '';
  return {
    user: env.USER || userInfo().username,
    host,
    processStart,
    stateDirectory: join(base, 'devloop'),
    // Two machines may share a name, but not a boot.
    isHere: (holder) => holder.host === host && bootOf(holder.processStart) === bootOf(processStart),
    isRunning,
  };
}

function bootOf(processStart: string): string {
  return processStart.includes('/') ? processStart.slice(0, processStart.indexOf('/')) : '';
}

/** Whether exactly this process is running. The pid alone may belong to another process by now. */
export async function isRunning({
  pid,
  processStart,
}: {
  pid: number;
  processStart: string;
}): Promise<boolean> {
  const start = startTimeOf(pid);
  return start !== undefined && (processStart === '' || start === processStart);
}

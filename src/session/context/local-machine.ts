import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Here } from '../../cluster/takeover/lease-holder.ts';
import { keptDirectory, ownAccount } from '../../machine/account.ts';
import { startTimeOf } from '../../machine/system.ts';

/** This user on this machine, and how sessions that run on it are recognised. */
export interface LocalMachine extends Here {
  user: string;
  host: string;
  /** When this process started, as `startTimeOf` writes it; empty if the system does not report it. */
  processStart: string;
  /** Local state of all sessions. Losing it does no harm: everything that matters is in the cluster. */
  stateDirectory: string;
}

export async function thisMachine(env: Record<string, string | undefined>): Promise<LocalMachine> {
  const host = hostname();
  const processStart = startTimeOf(process.pid) ?? '';
  return {
    user: env.USER || ownAccount(env).name,
    host,
    processStart,
    stateDirectory: join(keptDirectory(env, 'state'), 'devloop'),
    // Two machines can have the same name, but not the same boot; two containers can have both in common, but not the PID namespace.
    isHere: (holder) => holder.host === host && placeOf(holder.processStart) === placeOf(processStart),
    async isRunning(holder) {
      const running = await isRunning(holder);
      // Without the id of a boot, this may be another machine of the same name.
      return running === false && placeOf(holder.processStart) === '' ? undefined : running;
    },
  };
}

/** Where a process was started: the boot and the PID namespace. Empty if the system does not report them (macOS). */
function placeOf(processStart: string): string {
  return processStart.slice(0, Math.max(0, processStart.lastIndexOf('/')));
}

/**
 * Whether exactly this process is running: the pid alone may belong to another process by now. Undefined if the process cannot be seen from
 * here (it is in another PID namespace, or /proc hides the processes of other users), or if its start time is not known.
 */
export async function isRunning({ pid, processStart }: ProcessIdentity): Promise<boolean | undefined> {
  if (isElsewhere(processStart)) return undefined;
  const start = startTimeOf(pid);
  if (start === undefined) return isHidden(pid) ? undefined : false;
  // Without a start time, the process with that pid may be a different one.
  if (processStart === '') return undefined;
  return start === processStart;
}

interface ProcessIdentity {
  pid: number;
  processStart: string;
}

/** Whether the process is in another PID namespace of the same boot. No process survives a reboot. */
function isElsewhere(processStart: string): boolean {
  const [boot, namespace] = placeOf(processStart).split('/');
  const [ourBoot, ourNamespace] = placeOf(startTimeOf(process.pid) ?? '').split('/');
  return boot === ourBoot && namespace !== ourNamespace;
}

/** Whether the process is another user's: it cannot be signalled, but it exists. */
function isHidden(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

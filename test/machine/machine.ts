import { type ChildProcess, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { PREFIX, removeMachine } from './remove.ts';

/** The machine of one test file, as seen by the process that started it. */
export interface Machine {
  /** What the file's process needs to know about it. */
  env: Record<string, string>;
  /** Ends the machine when it is killed. */
  process?: ChildProcess;
  /** Removes what an ended machine left behind. */
  close(): Promise<void>;
}

const open = new Map<string, Machine>();

/** Gives a machine its own directories for temporary files and state, since other machines have processes with the same numbers. */
export function openMachine(): Machine {
  listen();
  const directory = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
  const state = join(directory, 'state');
  mkdirSync(state);
  const machine: Machine = {
    env: { TMPDIR: directory, XDG_STATE_HOME: state, DEVLOOP_TEST_MACHINE: basename(directory) },
    async close() {
      await removeMachine(directory);
      open.delete(directory);
    },
  };
  open.set(directory, machine);
  return machine;
}

/**
 * An interrupt ends the run at once. The handlers stay, since npm sends the signal twice, and the second one must not end the process
 * early.
 */
function listen(): void {
  if (process.listeners('exit').includes(endAll)) return;
  process.on('exit', endAll);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => process.exit(128 + constants.signals[signal]));
}

/** An exit handler cannot wait for anything asynchronous, so another process does the work. */
function endAll(): void {
  if (open.size === 0) return;
  for (const machine of open.values()) machine.process?.kill('SIGKILL');
  // A process group of its own, since a second Ctrl-C reaches every process of this group.
  const program = [process.execPath, join(import.meta.dirname, 'remove.ts'), ...open.keys()];
  spawnSync('setsid', ['--wait', ...program], { stdio: 'inherit' });
}

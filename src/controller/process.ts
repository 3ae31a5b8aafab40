import { type ChildProcess, spawn } from 'node:child_process';
import { sleep } from '../async.ts';
import { forwardLines } from '../machine/lines.ts';
import { endGroup, killGroup } from '../machine/process.ts';
import type { Emit } from '../report/events.ts';

export interface ControllerCommand {
  command: string[];
  cwd: string;
  env: Record<string, string>;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Why the program could not be started at all. */
  failure?: string;
}

export interface ControllerProcess {
  /** Undefined when the program could not be started; `exited` then says why. */
  readonly pid: number | undefined;
  readonly command: string[];
  /** Resolves when the process has ended and no process is left in its group. Never rejects. */
  readonly exited: Promise<Exit>;
  /** The end of its output, for error messages. */
  lastLines(): string[];
  /**
   * SIGTERM to the group, SIGKILL after the grace period. SIGTERM is sent once, however often this is called:
   * controller-runtime exits with code 1 at once when it receives a second one.
   */
  stop(options: { graceMs: number }): Promise<Exit>;
}

const KEPT_LINES = 40;
/** Killed descendants disappear in microseconds, unless no parent collects them (a container without an init process). */
const DESCENDANTS_MS = 500;
/** A descendant that left the group can keep the pipes open. */
const OUTPUT_MS = 250;

/**
 * Starts the controller in a process group of its own: a Ctrl-C in the terminal then does not reach it in addition to our
 * SIGTERM, and whatever it starts can be ended with it.
 */
export function startController(run: ControllerCommand, emit: Emit): ControllerProcess {
  const child = spawn(run.command[0]!, run.command.slice(1), {
    cwd: run.cwd,
    env: run.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  const forward = (stream: 'stdout' | 'stderr') =>
    forwardLines(child[stream], (line) => {
      lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
      emit({ type: 'controller.output', stream, line });
    });
  const ended = new AbortController();
  const exited = waitForEnd(child, [forward('stdout'), forward('stderr')]).finally(() => ended.abort());
  let stopping = false;
  return {
    pid: child.pid,
    command: run.command,
    exited,
    lastLines: () => [...lines],
    stop({ graceMs }) {
      if (!stopping && isRunning(child)) {
        stopping = true;
        void endGroup(child.pid!, 'SIGTERM', graceMs, ended.signal);
      }
      return exited;
    },
  };
}

function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

async function waitForEnd(child: ChildProcess, outputs: Promise<void>[]): Promise<Exit> {
  const exit = await new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.once('error', (error) => resolve({ code: null, signal: null, failure: error.message }));
  });
  if (child.pid === undefined) return exit;
  await killGroup(child.pid, DESCENDANTS_MS);
  const drained = new AbortController();
  void Promise.all(outputs).then(() => drained.abort());
  await sleep(OUTPUT_MS, drained.signal);
  child.stdout?.destroy();
  child.stderr?.destroy();
  return exit;
}

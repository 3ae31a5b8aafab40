import { type ChildProcess, spawn } from 'node:child_process';
import { createLineSplitter } from '../machine/lines.ts';
import { killGroup, signalGroup } from '../machine/process-group.ts';
import type { Emit } from '../report/events.ts';

export interface ControllerCommand {
  command: string[];
  cwd: string;
  env: Record<string, string>;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Why it could not be started at all. */
  failure?: string;
}

export interface ControllerProcess {
  /** Undefined when the program could not be started; `exited` then says why. */
  readonly pid: number | undefined;
  readonly command: string[];
  /** Resolves when the process has ended and nobody is left in its group. Never rejects. */
  readonly exited: Promise<Exit>;
  /** The end of its output, for error messages. */
  lastLines(): string[];
  /**
   * SIGTERM to the group, SIGKILL after the grace. SIGTERM goes out once however often this is called: controller-runtime
   * takes the second one as the order to exit with code 1 at once.
   */
  stop(options: { graceMs: number }): Promise<Exit>;
}

const KEPT_LINES = 40;
/** Killed descendants are gone in microseconds, unless nobody reaps them (a container without an init). */
const DESCENDANTS_MS = 500;
/** A descendant that left the group can hold the pipes open for ever. */
const OUTPUT_MS = 250;

/**
 * Starts the controller in a process group of its own, so that a Ctrl-C of the terminal does not reach it beside our
 * SIGTERM, and so that whatever it starts can be ended with it.
 */
export function startController(run: ControllerCommand, emit: Emit): ControllerProcess {
  const child = spawn(run.command[0]!, run.command.slice(1), {
    cwd: run.cwd,
    env: run.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  const outputEnded = Promise.all([
    forwardLines(child, 'stdout', lines, emit),
    forwardLines(child, 'stderr', lines, emit),
  ]);
  const exited = waitForEnd(child, outputEnded);
  if (child.pid !== undefined) emit({ type: 'controller.started', pid: child.pid, command: run.command });

  let stopping = false;
  let killTimer: NodeJS.Timeout | undefined;
  void exited.then(() => clearTimeout(killTimer));
  return {
    pid: child.pid,
    command: run.command,
    exited,
    lastLines: () => [...lines],
    stop({ graceMs }) {
      if (!stopping && isRunning(child)) {
        stopping = true;
        signalGroup(child.pid!, 'SIGTERM');
        killTimer = setTimeout(() => signalGroup(child.pid!, 'SIGKILL'), graceMs);
      }
      return exited;
    },
  };
}

function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

async function waitForEnd(child: ChildProcess, outputEnded: Promise<unknown>): Promise<Exit> {
  const exit = await new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.once('error', (error) => resolve({ code: null, signal: null, failure: error.message }));
  });
  if (child.pid === undefined) return exit;
  await killGroup(child.pid, DESCENDANTS_MS);
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise((resolve) => {
    timer = setTimeout(resolve, OUTPUT_MS);
  });
  await Promise.race([outputEnded, patience]);
  clearTimeout(timer);
  child.stdout?.destroy();
  child.stderr?.destroy();
  return exit;
}

function forwardLines(
  child: ChildProcess,
  stream: 'stdout' | 'stderr',
  lines: string[],
  emit: Emit,
): Promise<void> {
  const splitter = createLineSplitter((line) => {
    lines.push(line);
    if (lines.length > KEPT_LINES) lines.shift();
    emit({ type: 'controller.output', stream, line });
  });
  const source = child[stream]!;
  source.on('data', splitter.write);
  return new Promise((resolve) => {
    source.once('close', () => {
      splitter.end();
      resolve();
    });
  });
}

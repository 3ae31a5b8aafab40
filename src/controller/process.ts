import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { sleep } from '../async.ts';
import { DevloopError, messageOf } from '../errors.ts';
import { forwardLines } from '../machine/lines.ts';
import { endFollowers, endGroup, killGroup, killSession, signalGroup } from '../machine/process.ts';
import type { Emit } from '../report/events.ts';
import {
  type ControllerCommand,
  type NotSpawned,
  spawnWaiting,
  type WaitingProcess,
} from './spawn-waiting.ts';

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Whether nothing is left of what it has started: no process in its group, and none that still has its output open. */
  isGone?: boolean;
  /** Why the program could not be started at all, and what to do. */
  failure?: string;
  hint?: string | undefined;
}

/** A controller that runs under a debugger. The debugger is the process that devloop starts. */
export interface Debugged {
  /** Called with each line that the debugger or the controller prints; returns true for a line of the debugger itself. */
  reads(line: string): boolean;
  /** Resolves with the exit code of the controller, or with the negative number of the signal that ended it. The debugger keeps running. */
  readonly exited: Promise<number>;
  /** Whether the debugger has stopped the controller, at a breakpoint for example. */
  readonly isStopped: boolean;
  /** Lets the controller run without breakpoints, so that it can end. Never rejects. */
  leave(): Promise<void>;
}

export interface ControllerProcess {
  /** The process id; undefined if the program could not be started, for the reason in `exited`. */
  readonly pid: number | undefined;
  /** Resolves when the process has ended and no process is left in its group. Never rejects. */
  readonly exited: Promise<Exit>;
  /** The last lines of its output, for error messages. */
  lastLines(): string[];
  /**
   * Sends SIGTERM to the group, and SIGKILL after the grace period. SIGTERM is sent once, however often this is called: controller-runtime
   * exits with code 1 at once when it receives a second one.
   */
  stop(options: { graceMs: number }): Promise<Exit>;
  /** Sends SIGKILL to the group, in addition to what `stop` does. */
  kill(): void;
}

const KEPT_LINES = 40;
/** Killed descendants disappear in microseconds, unless no parent collects them (a container without an init process). */
const DESCENDANTS_MS = 500;
/** A descendant that left the group can keep the pipes open. */
const OUTPUT_MS = 250;

/**
 * Starts the controller in a process group of its own: then a Ctrl-C in the terminal does not reach it in addition to devloop's SIGTERM,
 * and whatever it starts can be ended with it.
 *
 * The program begins when `record` has returned. If `record` throws, or devloop is killed before that, the program never begins. `standBy`:
 * the process that was made for this start.
 */
export function startController(
  run: ControllerCommand & { debugged?: Debugged | undefined; standBy?: WaitingProcess | undefined },
  emit: Emit,
  record: (pid: number) => void = () => {},
): ControllerProcess {
  const { debugged, standBy } = run;
  const spawned = standBy ?? spawnWaiting(run);
  if ('failure' in spawned) return notStarted(spawned);
  const { child, begin } = spawned;
  const lines: string[] = [];
  const forward = (stream: 'stdout' | 'stderr') =>
    forwardLines(child[stream], (line) => {
      if (debugged?.reads(line)) return;
      lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
      emit({ type: 'controller.output', stream, line });
    });
  const ended = new AbortController();
  const outputs = [forward('stdout'), forward('stderr')];
  const failure = recordAndBegin(child, begin, record);
  let own: Exit | undefined;
  void debugged?.exited.then((code) => {
    own = exitOf(code);
    if (isRunning(child)) signalGroup(child.pid!, 'SIGKILL');
  });
  const kill = debugged ? killSession : killGroup;
  const exited = waitForEnd(child, outputs, kill)
    .then((exit) => (failure === undefined ? { ...exit, ...own } : { code: null, signal: null, ...failure }))
    .finally(() => ended.abort());
  let stopping = false;
  return {
    pid: failure === undefined ? child.pid : undefined,
    exited,
    lastLines: () => [...lines],
    stop({ graceMs }) {
      if (!stopping && isRunning(child)) {
        stopping = true;
        if (debugged) void endDebugged(child.pid!, debugged, graceMs, ended.signal);
        else void endGroup(child.pid!, 'SIGTERM', graceMs, ended.signal);
      }
      return exited;
    },
    kill() {
      if (isRunning(child)) signalGroup(child.pid!, 'SIGKILL');
    },
  };
}

function notStarted(why: NotSpawned): ControllerProcess {
  const exit: Exit = { code: null, signal: null, ...why };
  const exited = Promise.resolve(exit);
  return { pid: undefined, exited, lastLines: () => [], stop: () => exited, kill() {} };
}

/** Returns the reason if the program must not begin: a process without a record could not be found after a crash. */
function recordAndBegin(
  child: ChildProcess,
  begin: (go: boolean) => void,
  record: (pid: number) => void,
): { failure: string; hint: string | undefined } | undefined {
  if (child.pid === undefined) return undefined;
  try {
    record(child.pid);
    begin(true);
    return undefined;
  } catch (error) {
    begin(false);
    return { failure: messageOf(error), hint: error instanceof DevloopError ? error.hint : undefined };
  }
}

function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

/**
 * Ends the controller without a SIGTERM to the debugger, which would kill the controller. A controller that is stopped at a breakpoint
 * would not react to SIGTERM, so devloop lets it run first.
 */
async function endDebugged(
  leader: number,
  debugged: Debugged,
  graceMs: number,
  ended: AbortSignal,
): Promise<void> {
  await debugged.leave();
  if (ended.aborted) return;
  await endFollowers(leader);
  if (await sleep(graceMs, ended)) signalGroup(leader, 'SIGKILL');
}

function exitOf(code: number): Exit {
  if (code >= 0) return { code, signal: null };
  const signal = Object.entries(constants.signals).find(([, number]) => number === -code)?.[0];
  return { code: null, signal: (signal ?? 'SIGKILL') as NodeJS.Signals };
}

async function waitForEnd(
  child: ChildProcess,
  outputs: Promise<void>[],
  kill: (leader: number, limitMs: number) => Promise<boolean>,
): Promise<Exit> {
  const exit = await new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.once('error', (error) => resolve({ code: null, signal: null, failure: error.message }));
  });
  if (child.pid === undefined) return exit;
  const isAlone = await kill(child.pid, DESCENDANTS_MS);
  const drained = new AbortController();
  void Promise.all(outputs).then(() => drained.abort());
  const isGone = !(await sleep(OUTPUT_MS, drained.signal)) && isAlone;
  child.stdout?.destroy();
  child.stderr?.destroy();
  return { ...exit, isGone };
}

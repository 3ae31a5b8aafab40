import type { Sources } from '../checkout/language.ts';
import type { Emit } from '../report/events.ts';
import type { BuildPlan } from './build.ts';
import type { Program } from './programs.ts';
import { commandOf, type Running, type RunPlan, type Startable } from './runner.ts';
import type { StandBy } from './stand-by.ts';
import type { Standing } from './standing.ts';
import type { WatchTarget } from './watch/scope.ts';
import type { FirstLook } from './watch/watch.ts';

/** Holds requests while no controller can answer them. The gateways have a gate. Without webhooks, only the debugger has one. */
export interface Gate {
  /** `onHalfWaited` is called for each request that waits when half of its time is over. */
  hold(onHalfWaited: () => void): void;
  release(): void;
  /** No controller runs for `ms`: requests wait, or fail at once if they cannot wait that long. The next `hold` ends this. */
  controllerDown(why: string, ms: number): void;
  /** Called when no controller will be started again. After this call, a request that nothing accepts fails at once. */
  failFast(why: string): void;
}

/** How to build, run and watch the controller. */
export interface ControllerPlan extends BuildPlan, RunPlan {
  /** What to watch; undefined if nothing is watched. */
  watch: WatchTarget | undefined;
  /** The arguments that devloop has added because the sources define their flags. The command may run a program that does not know them. */
  added?: string[] | undefined;
}

export interface SupervisorPorts {
  emit: Emit;
  signal: AbortSignal;
}

/** What a person can do with a controller that is followed. */
export interface Following {
  /** Builds and restarts the controller, even if nothing has changed. */
  restart(): void;
  /** Kills the controller, and starts it again at once. */
  crash(): void;
  /** If `on` is false, changed files are only noted, and built as soon as files are followed again. */
  followFiles(on: boolean): void;
  /** The files that have changed since they are not followed. */
  ignoredFiles(): string[];
  /** Looks at the sources now, and so takes in what was saved before this call. */
  look(): Promise<void>;
  standing(): Standing;
}

/** What the parts of a supervisor share: the newest program and the one process. */
export interface Supervised {
  plan: ControllerPlan;
  ports: SupervisorPorts;
  /** Flags that devloop has added but the program does not know. */
  refused: Set<string>;
  /** What holds requests while the controller is replaced; absent without webhooks, unless there is a debugger. */
  gate: Gate | undefined;
  /** Aborted by the disposal: everything ends at once. */
  disposed: AbortSignal;
  program: Program;
  /** Called once, when a controller has started with the newest plan. */
  onStart?: (() => void) | undefined;
  /** The last program that was ready. */
  worked: Program | undefined;
  running: Running | undefined;
  standBy: StandBy;
  /** At how many restarts the old process has taken long to end. */
  slowEnds: number;
  /** Identifies the program of the running process. */
  runningContent: string | undefined;
  /** What the program was built from, if that is known without the build tool. */
  unchanged?: Sources | undefined;
  /** The first directories and files to watch, if devloop has begun to read them ahead of time. */
  firstLook?: Promise<FirstLook> | undefined;
  /** Present while sources and controller are followed. */
  following: Following | undefined;
  /** The number of the newest build. */
  lastBuild: number;
  /** The last build, on the clock of `Date.now()`: what was saved after its start might not be in the program. */
  buildSpan: { fromMs: number; toMs: number };
  /** When the last generation before a build ran, on the same clock. */
  generatedSpan?: { fromMs: number; toMs: number };
}

/** A program with the arguments of the plan as it is now; by default the newest. */
export function startable({ plan, program: newest, standBy }: Supervised, program = newest): Startable {
  return { command: [program.run[0]!, ...plan.run.slice(1)], build: program.build, standBy };
}

/** Notes that a controller has started with the plan as it is now. */
export function noteStarted(supervised: Supervised, running: Running, { content }: Program): void {
  supervised.running = running;
  supervised.runningContent = content;
  supervised.onStart?.();
  supervised.onStart = undefined;
}

/** Makes a process for the next start, which uses this process if nothing changes until then. */
export function makeStandBy(supervised: Supervised): void {
  const { plan, standBy, disposed } = supervised;
  if (plan.debugging || disposed.aborted) return;
  try {
    standBy.make(commandOf(plan, startable(supervised).command));
  } catch {
    // The start itself tries again, and reports the error.
  }
}

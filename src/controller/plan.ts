import type { Emit } from '../report/events.ts';
import type { Program } from './programs.ts';
import type { Running } from './runner.ts';

/** Holds requests while no controller can answer them: the gateway, or nothing for an operator without webhooks. */
export interface Gate {
  hold(): void;
  release(): void;
  /** No controller will answer for `ms`: requests that cannot wait that long fail at once. Ends with the next `hold`. */
  failFast(why: string, ms: number): void;
}

export interface ControllerPlan {
  cwd: string;
  /** Each build writes to a new file, if `-o` names `run[0]`. Undefined: the program is built already. */
  build: string[] | undefined;
  run: string[];
  env: Record<string, string>;
  webhook: { host: string; port: number } | undefined;
  watch: { goPackage: string; tags?: string | undefined } | { paths: string[] } | undefined;
  /** Between SIGTERM and SIGKILL. */
  graceMs: number;
  readyMs: number;
  /** Identifies the running controller; built programs are stored beside it. */
  stateFile: string;
  /** Where the newest program is kept for the next session, which then skips the link step if nothing changed. */
  keptProgram?: string | undefined;
}

export interface SupervisorPorts {
  gate: Gate;
  emit: Emit;
  signal: AbortSignal;
}

/** What the parts of a supervisor share: the newest program and the one process. */
export interface Supervised {
  plan: ControllerPlan;
  ports: SupervisorPorts;
  /** Aborted by the disposal: everything ends at once. */
  disposed: AbortSignal;
  program: Program;
  running: Running | undefined;
  /** Identifies the program of the running process. */
  runningContent: string | undefined;
  /** The last build, on the clock of `Date.now()`: what was saved after its start may not be in the program. */
  buildSpan: { fromMs: number; toMs: number };
}

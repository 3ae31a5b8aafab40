import type { Emit } from '../report/events.ts';
import type { Program } from './programs.ts';
import type { Running } from './runner.ts';

/** What holds requests back while there is no controller to answer them; the gateway, or nothing for an operator without webhooks. */
export interface Gate {
  hold(): void;
  release(): void;
  /** Nobody will answer for so many milliseconds: what cannot wait that long fails at once. Ends with the next `hold`. */
  failFast(why: string, ms: number): void;
}

export interface ControllerPlan {
  cwd: string;
  /** A `-o` that names `run[0]` is given a new file at each build. Undefined: the program is there already. */
  build: string[] | undefined;
  run: string[];
  env: Record<string, string>;
  webhook: { host: string; port: number } | undefined;
  watch: { goPackage: string; tags?: string | undefined } | { paths: string[] } | undefined;
  /** Between SIGTERM and SIGKILL. */
  graceMs: number;
  readyMs: number;
  /** Holds the identity of the running controller; built programs lie beside it. */
  stateFile: string;
  /** Where the newest program stays for the next session; saves the link step of an unchanged one. */
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
  /** Aborted by dispose: whatever goes on ends at once. */
  disposed: AbortSignal;
  program: Program;
  running: Running | undefined;
  /** What identifies the program of the running process. */
  runningContent: string | undefined;
  /** The last build, in the clock of `Date.now()`: what was saved after its beginning may not be in the program. */
  buildSpan: { fromMs: number; toMs: number };
}

import { rm } from 'node:fs/promises';
import { pollUntil, reportWhileWaiting, sleep } from '../async.ts';
import { DevloopError } from '../errors.ts';
import type { Placed } from '../machine/mount-namespace.ts';
import { sessionListensOn } from '../machine/process.ts';
import { groupListensOn } from '../machine/system.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import type { Election } from './election.ts';
import { endedByItself, exitProblem } from './exit-cause.ts';
import { recordStarted } from './orphan.ts';
import { type ControllerProcess, type Debugged, type Exit, startController } from './process.ts';
import { answersTls, type Endpoint, type ReadinessOptions, waitUntilReady } from './readiness.ts';
import type { Problem, RestartEvent } from './restart-state.ts';
import type { ControllerCommand } from './spawn-waiting.ts';
import type { StandBy } from './stand-by.ts';

/**
 * A text in arguments, variables and the paths of placed files, and the value that it stands for, which is known only when the controller
 * starts. Undefined if there is no such value.
 */
export interface Late {
  standsFor: string;
  /** Throws 'files.not-written' if what the value names cannot be made. */
  value(): string | undefined;
}

export interface RunPlan {
  cwd: string;
  env: Record<string, string>;
  late?: Late[] | undefined;
  /** Arguments that contain values of Secrets, and how they are shown. */
  hidden: ReadonlyMap<string, string>;
  /** Where the controller answers reviews; undefined for an operator without webhooks. */
  webhook: Endpoint | undefined;
  /** The time between SIGTERM and SIGKILL. */
  graceMs: number;
  readyMs: number;
  /** The main package of the program, as `--package` takes it; absent for the user's own command. */
  package?: string | undefined;
  /** Other main packages that could be the manager. */
  rivals: string[];
  /**
   * Whether an exit with code 0 asks for a restart, as that of a certificate rotator does. Otherwise, it means that the program is not the
   * manager.
   */
  asksForRestart: boolean;
  /** Files of the Pod that the controller finds at their paths; `scratch` is a directory from which they are put there. */
  placed?: { files: Placed[]; scratch: string } | undefined;
  /** See ControllerCommand. */
  onlyWay?: ControllerCommand['onlyWay'];
  /** The file that identifies the running controller. */
  stateFile: string;
  /** The debugger; absent if the controller runs without one. */
  debugging?: Debugging | undefined;
  /** Follows the controller's leader election. */
  election?: Election | undefined;
}

/** Runs controllers under a debugger. */
export interface Debugging {
  /** The command that runs the given one under the debugger. */
  wrap(command: string[]): string[];
  /** Follows the next controller that starts. */
  attend(): Debugged;
}

export interface Startable {
  command: string[];
  /** The id of the program, as it is shown. */
  build: string;
  standBy?: StandBy | undefined;
}

/** One run of the controller. */
export interface Running {
  readonly pid: number | undefined;
  /** Rejects with 'controller.exited' or 'controller.not-ready'. */
  readonly ready: Promise<void>;
  readonly exited: Promise<Exit>;
  readonly hasExited: boolean;
  /** The last lines of its output. */
  lastLines(): string[];
  stop(): Promise<Exit>;
  /** Ends the controller at once. */
  kill(): void;
}

/** A manager without webhooks gives no sign that it is ready; a manager that fails to start usually exits within this time. */
const OBSERVE_MS = 1500;

/** Starts the controller, records it for a later session in case this one is killed, and emits what happens to it. */
export function run(plan: RunPlan, startable: Startable, emit: Emit, signal: AbortSignal): Running {
  const { command, build, standBy } = startable;
  const start = performance.now();
  const debugged = plan.debugging?.attend();
  const own = commandOf(plan, command);
  // Secrets are hidden first: a word in which a late value has been filled in would no longer be found.
  const { command: shown } = commandOf(plan, shownCommand(command, plan));
  const candidate = plan.election?.attend();
  const read: Emit = (event) => {
    if (event.type === 'controller.output') candidate?.reads(event.line);
    emit(event);
  };
  const controller = startController({ ...own, debugged, standBy: standBy?.take(own) }, read, (leader) =>
    recordStarted(plan.stateFile, { pid: leader, command: shown }),
  );
  const { pid } = controller;
  const from = plan.package === undefined ? {} : { package: plan.package };
  if (pid !== undefined) emit({ type: 'controller.started', pid, command: shown, build, ...from });
  let stopping = false;
  let hasExited = false;
  const exited = forget(plan.stateFile, controller);
  void controller.exited.then(({ code, signal, isGone = false }) => {
    hasExited = true;
    candidate?.ended(isGone);
    if (pid !== undefined) emit({ type: 'controller.exited', pid, code, signal, expected: stopping });
  });
  const tell = (type: 'controller.ready' | 'controller.silent'): void =>
    emit({ type, pid: pid!, ms: Math.round(performance.now() - start) });
  const attempt = { ...controller, debugged };
  const ready = untilReady(plan, attempt, emit, signal).then(() => tell('controller.ready'));
  ready.catch(async (error) => {
    if (!isNotReady(error)) return;
    tell('controller.silent');
    if ((await isReadyLate(plan, attempt, emit, signal)) && !stopping) tell('controller.ready');
  });
  return {
    pid,
    ready,
    exited,
    get hasExited() {
      return hasExited;
    },
    lastLines: () => controller.lastLines(),
    stop() {
      const limitSeconds = plan.graceMs / 1000;
      if (!stopping) void reportWhileWaiting(exited, { for: 'the controller to end', limitSeconds }, emit);
      stopping = true;
      void controller.stop({ graceMs: plan.graceMs });
      return exited;
    },
    kill: () => controller.kill(),
  };
}

/** The command and its environment, as they are known now. */
export function commandOf(plan: RunPlan, command: string[]): ControllerCommand {
  const { cwd, debugging, placed, onlyWay } = plan;
  const known = command.map((word) => whenStarting(word, plan) ?? '');
  const env = Object.fromEntries(
    Object.entries(plan.env).flatMap(([name, value]) => {
      const now = whenStarting(value, plan);
      return now === undefined ? [] : [[name, now]];
    }),
  );
  const files = placed?.files.map((one) => ({ ...one, from: whenStarting(one.from, plan) ?? one.from }));
  return {
    ...{ command: debugging ? debugging.wrap(known) : known, cwd, env, onlyWay },
    placed: placed && files && { ...placed, files },
  };
}

/** The text with the values that are known when the controller starts; undefined if one of them is not available. */
function whenStarting(text: string, { late = [] }: RunPlan): string | undefined {
  let known: string | undefined = text;
  for (const { standsFor, value } of late) {
    if (!known?.includes(standsFor)) continue;
    const now = value();
    known = now && known.replaceAll(standsFor, () => now);
  }
  return known;
}

/** The command without the values of Secrets. */
export function shownCommand(command: string[], { hidden }: Pick<RunPlan, 'hidden'>): string[] {
  return command.map((word) => hidden.get(word) ?? word);
}

/** Reports whether one run becomes ready, and then how it exited. */
export async function observe(
  running: Running,
  { number, plan }: { number: number; plan: RunPlan },
  report: (event: RestartEvent) => void,
): Promise<void> {
  let problem: Problem | undefined;
  try {
    await running.ready;
    report({ is: 'ready', run: number, pid: running.pid!, at: performance.now() });
  } catch (error) {
    // Any other error comes from the abort at the disposal.
    if (error instanceof DevloopError) problem = problemOf(error);
    if (problem && isNotReady(error)) {
      report({ is: 'not-ready', run: number, problem, at: performance.now() });
      problem = undefined;
    }
  }
  const exit = await running.exited;
  const isWrong = exit.code === 0 && !plan.asksForRestart;
  problem = isWrong
    ? problemOf(endedByItself(plan.rivals))
    : (problem ?? exitProblem(exit, running.lastLines()));
  report({ is: 'exited', run: number, code: exit.code, isWrong, problem, at: performance.now() });
}

/** Most controllers have exited this long after SIGTERM. */
const LINGER_MS = 300;
const LINGER_POLL_MS = 100;

/** If a run does not exit soon after SIGTERM, reports whether it still answers, and later that it no longer does. */
export async function observeEnd(
  { pid, exited }: Running,
  webhook: Endpoint | undefined,
  number: number,
  report: (event: RestartEvent) => void,
): Promise<void> {
  const ended = new AbortController();
  void exited.then(() => ended.abort());
  if (pid === undefined || webhook === undefined || !(await sleep(LINGER_MS, ended.signal))) return;
  const hasPort = (): Promise<boolean> => sessionListensOn(pid, webhook.port);
  const tell = (answers: boolean): void =>
    report({ is: 'lingers', run: number, answers, at: performance.now() });
  const answers = (await hasPort()) && (await answersTls(webhook));
  tell(answers);
  const timing = { everyMs: LINGER_POLL_MS, limitMs: Number.POSITIVE_INFINITY, signal: ended.signal };
  if (answers && (await pollUntil(async () => !(await hasPort()), timing))) tell(false);
}

function isNotReady(error: unknown): boolean {
  return error instanceof DevloopError && error.code === 'controller.not-ready';
}

export function problemOf({ code, message, hint }: DevloopError): Problem {
  return { error: code, message, hint };
}

interface Attempt extends ControllerProcess {
  debugged: Debugged | undefined;
}

async function untilReady(
  plan: RunPlan,
  controller: Attempt,
  emit: Emit,
  signal: AbortSignal,
): Promise<void> {
  const { webhook, readyMs } = plan;
  const ready = waitUntilReady(controller, readinessOf(plan, controller, emit, signal));
  const waiting = { for: 'the controller to be ready', limitSeconds: readyMs / 1000 };
  await (webhook ? reportWhileWaiting(ready, waiting, emit) : ready);
}

const LATE_POLL_MS = 250;

/** Whether a controller that was not ready at its deadline becomes ready before it ends. */
async function isReadyLate(
  plan: RunPlan,
  controller: Attempt,
  emit: Emit,
  signal: AbortSignal,
): Promise<boolean> {
  const late = { deadlineMs: Number.POSITIVE_INFINITY, everyMs: LATE_POLL_MS };
  const ready = waitUntilReady(controller, { ...readinessOf(plan, controller, emit, signal), ...late });
  return await ready.then(
    () => true,
    () => false,
  );
}

function readinessOf(
  plan: RunPlan,
  { debugged }: Attempt,
  emit: Emit,
  signal: AbortSignal,
): ReadinessOptions {
  const { webhook, readyMs } = plan;
  const onStranger = (port: number, owner: string): void =>
    emit(notice('controller.port-of-another', { port, owner }));
  // The time at a breakpoint does not count.
  const mayWait = (): boolean => debugged?.isStopped ?? false;
  const listensOn = plan.debugging ? sessionListensOn : groupListensOn;
  const timing = { observeMs: OBSERVE_MS, deadlineMs: readyMs, mayWait, listensOn };
  return { webhook, ...timing, signal, onStranger };
}

/** A record that cannot be removed does no harm: its process is gone. */
async function forget(file: string, controller: ControllerProcess): Promise<Exit> {
  const exit = await controller.exited;
  await rm(file, { force: true }).catch(() => {});
  return exit;
}

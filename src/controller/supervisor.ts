import { sleep } from '../async.ts';
import { AGAIN, DevloopError } from '../errors.ts';
import { requireFreePort } from '../machine/port.ts';
import { notice } from '../report/notices/catalogue.ts';
import { prepareFirst } from './build.ts';
import { buildId } from './build-id.ts';
import { buildOnce } from './builder.ts';
import { endedByItself, exitProblem } from './exit-cause.ts';
import { follow } from './follow.ts';
import { flagOf, refusedArgument, withoutFlags } from './refused-flags.ts';
import { reasonOf } from './restart-runs.ts';
import { unstartedState } from './restart-state.ts';
import { type Running, run } from './runner.ts';
import { createStandBy } from './stand-by.ts';
import {
  type ControllerPlan,
  type Following,
  type Gate,
  makeStandBy,
  noteStarted,
  type Supervised,
  type SupervisorPorts,
  startable,
} from './supervised.ts';
import { readScope, scopeOf } from './watch/scope.ts';
import { lookAt } from './watch/watch.ts';

export type { ControllerPlan, Gate } from './supervised.ts';

type NextStart = Pick<ControllerPlan, 'run' | 'env' | 'placed' | 'hidden' | 'added'>;

/** `restart`, `followFiles`, `ignoredFiles` and `look` have an effect only while `follow` runs; before that, `crash` only kills. */
export interface Supervisor extends AsyncDisposable, Following {
  /** Puts in place what the first build can reuse, so that `build` then begins at once. */
  prepare(): Promise<void>;
  /**
   * The first build. If it fails, throws 'controller.build-failed' with the compiler's output, or waits until a build succeeds after a
   * change; the signal ends that wait.
   */
  build(ifItFails: 'throw' | 'wait'): Promise<void>;
  /** Makes the process for the first start, while devloop waits for something else. */
  standBy(): void;
  /**
   * The first start: resolves when the controller is ready. If this throws, the process has received SIGTERM, and the disposal waits for
   * its end.
   */
  start(): Promise<void>;
  /** Resolves with the error when the controller of the first start has ended, for one that is not followed. */
  ended(): Promise<DevloopError>;
  /** Finds out what to watch, while devloop waits for something else: if the go tool has to be asked, that takes a third of a second. */
  lookAhead(): void;
  /**
   * Looks while the first build runs, or before the first start, if the user's own command may write sources again, as `make run` does: what
   * then has the same content as before is no change. Resolves when the sources are read, or that takes too long to wait for.
   */
  lookFirst(): Promise<void>;
  /**
   * Sets the controller's arguments, variables and placed files for later starts. The next change restarts the controller even if the program is
   * identical. `onStart` is called when a controller has started with them.
   */
  runWith(next: NextStart, onStart?: () => void): void;
  /** Builds and replaces the controller at each change, and restarts it when it exits, until the signal aborts. */
  follow(gate?: Gate): Promise<void>;
  /**
   * The session is ending, so this controller is the last one: releases the requests, and lets them fail at once if it does not answer. A
   * replacement that has begun is completed first, because requests wait for it.
   */
  leave(gate: Gate): Promise<void>;
}

/** A manager that creates its own certificate asks for a restart with exit code 0 before it is ready for the first time. */
const START_ATTEMPTS = 3;

export function createSupervisor(plan: ControllerPlan, ports: SupervisorPorts): Supervisor {
  const disposal = new AbortController();
  const supervised = atFirst(plan, ports, disposal.signal);
  let following: Promise<void> | undefined;
  let failedStart: { why: string } | undefined;
  return {
    prepare: () => prepareFirst(plan),
    build: (ifItFails) => firstBuild(supervised, ifItFails),
    standBy: () => makeStandBy(supervised),
    start: () =>
      firstStart(supervised).catch((error) => {
        failedStart = { why: whyEnding(error) };
        throw error;
      }),
    async ended() {
      const { running } = supervised;
      const { message, hint } = exitProblem(await running!.exited, running!.lastLines());
      return new DevloopError('controller.exited', message, hint === undefined ? {} : { hint });
    },
    lookAhead: () => lookAhead(supervised),
    lookFirst: () => lookFirst(supervised),
    runWith(next, onStart) {
      runWith(supervised, next);
      supervised.onStart = onStart;
    },
    follow(gate) {
      supervised.gate = gate;
      following ??= follow(supervised);
      return following;
    },
    async leave(gate) {
      const why = failedStart?.why ?? NO_CONTROLLER;
      gate.failFast(why);
      await following?.catch(() => {});
      const { running } = supervised;
      const isGone = (): void => gate.controllerDown(why, Number.POSITIVE_INFINITY);
      // A controller that failed to start is being stopped, so no request is sent to it.
      if (running === undefined || running.hasExited || failedStart !== undefined) isGone();
      else void running.exited.then(isGone);
      gate.release();
    },
    restart: () => supervised.following?.restart(),
    crash: () => (supervised.following ? supervised.following.crash() : supervised.running?.kill()),
    followFiles: (on) => supervised.following?.followFiles(on),
    ignoredFiles: () => supervised.following?.ignoredFiles() ?? [],
    look: async () => await supervised.following?.look(),
    standing: () => supervised.following?.standing() ?? { is: 'pending', for: 'the first start' },
    async [Symbol.asyncDispose]() {
      disposal.abort();
      supervised.standBy[Symbol.dispose]();
      await end(supervised.running);
      await following?.catch(() => {});
      // A process may have been started at the very moment of the disposal.
      await end(supervised.running);
    },
  };
}

function atFirst(plan: ControllerPlan, ports: SupervisorPorts, disposed: AbortSignal): Supervised {
  return {
    ...{ plan, ports, disposed },
    refused: new Set(),
    gate: undefined,
    program: { run: plan.run, content: undefined, build: startedNow(), fromMs: undefined, file: undefined },
    worked: undefined,
    running: undefined,
    standBy: createStandBy(),
    slowEnds: 0,
    runningContent: undefined,
    following: undefined,
    lastBuild: 0,
    buildSpan: { fromMs: Date.now(), toMs: Date.now() },
  };
}

export const NO_CONTROLLER = 'the session is ending, and no controller is running';

/** Reviews are refused with the cause of a failed start. An interruption is not such a cause. */
function whyEnding(error: unknown): string {
  const isCause = error instanceof DevloopError && error.code.startsWith('controller.');
  return isCause ? reasonOf(error, 'the session is ending') : NO_CONTROLLER;
}

/** The id of a program that devloop does not build: its time is that of the start. */
function startedNow(): string {
  return buildId({ content: undefined, at: Date.now(), isDirty: undefined });
}

function lookAhead(supervised: Supervised): void {
  const { plan, unchanged, disposed } = supervised;
  if (plan.watch === undefined || supervised.firstLook !== undefined) return;
  supervised.firstLook = lookAt(
    unchanged ? Promise.resolve(scopeOf(unchanged)) : readScope(plan.cwd, plan.watch, disposed),
  );
  supervised.firstLook.catch(() => {});
}

/** The files of most checkouts are read in a tenth of this time. */
const LOOK_MS = 1_000;

async function lookFirst(supervised: Supervised): Promise<void> {
  const { plan, ports, disposed } = supervised;
  if (plan.build !== undefined && plan.tool?.builds(plan.build)) return;
  lookAhead(supervised);
  const waited = new AbortController();
  const isRead = supervised.firstLook?.catch(() => {});
  const limit = sleep(LOOK_MS, AbortSignal.any([ports.signal, disposed, waited.signal]));
  await Promise.race([isRead, limit]);
  waited.abort();
}

async function firstBuild(supervised: Supervised, ifItFails: 'throw' | 'wait'): Promise<void> {
  const { plan, ports, disposed } = supervised;
  if (plan.build === undefined && plan.generate === undefined) return;
  ports.emit({ type: 'build.started', reason: [] });
  const signal = AbortSignal.any([ports.signal, disposed]);
  const built = await buildOnce(supervised, 0, signal);
  if (!built.ok) {
    if (ifItFails === 'throw') {
      const message = `The controller failed to build (${(plan.build ?? plan.generate!.command).join(' ')}):\n${built.output}`;
      throw new DevloopError('controller.build-failed', message, {
        hint: adviceFor(built.output, plan, [`Fix the error. Then: ${AGAIN}`]),
      });
    }
    ports.emit({ type: 'build.failed', ms: built.ms, output: built.output });
    const next = adviceFor(built.output, plan, []);
    ports.emit(notice('build.awaits-fix', next === '' ? {} : { next }));
    // The wait for the fix has no limit: whoever works on the code may take an hour. What exists in the cluster then serves nobody else, and
    // the Leases are renewed all the time, so a session that was killed shows itself as dead after seconds, and `down` removes the rest.
    await follow(supervised, unstartedState(performance.now()));
    return signal.throwIfAborted();
  }
  ports.emit({ type: 'build.done', ms: built.ms });
  supervised.program = built.program;
  supervised.unchanged = built.unchanged;
}

/** What to do next. If the build tool's own output shows that, the flags are not the cause. */
function adviceFor(output: string, { tool, withoutChosen }: ControllerPlan, otherwise: string[]): string {
  return tool?.advice(output) ?? [...otherwise, withoutChosen ?? []].flat().join('\n');
}

async function firstStart(supervised: Supervised): Promise<void> {
  const { ports, program, disposed } = supervised;
  const signal = AbortSignal.any([ports.signal, disposed]);
  for (let exits = 0; ; ) {
    const { plan } = supervised;
    signal.throwIfAborted();
    if (plan.webhook) await requireFreePort(plan.webhook.port);
    const running = run(plan, startable(supervised), ports.emit, signal);
    noteStarted(supervised, running, program);
    const code = await settled(running).catch((error) => leaveOut(supervised, running, error));
    if (code === undefined) {
      supervised.worked = program;
      return;
    }
    supervised.running = undefined;
    if (code === 'refused') continue;
    if (!plan.asksForRestart) throw endedByItself(plan.rivals);
    if (++exits === START_ATTEMPTS) return await running.ready;
  }
}

/** Waits until the controller is ready. Returns 0 if the controller exited with code 0 before that, and throws any other failure. */
async function settled(running: Running): Promise<0 | undefined> {
  try {
    await running.ready;
    return undefined;
  } catch (error) {
    // The cluster is restored next, without waiting for the end of a process that is no longer needed.
    const exited = running.stop();
    if (hasExited(error) && (await exited).code === 0) return 0;
    throw error;
  }
}

/**
 * If the program ended because it does not know a flag that devloop has added, removes that flag, so that the program can be started again.
 * Rethrows any other error.
 */
function leaveOut(supervised: Supervised, running: Running, error: unknown): 'refused' {
  const { added = [] } = supervised.plan;
  const argument = hasExited(error) ? refusedArgument(added, running.lastLines()) : undefined;
  if (argument === undefined) throw error;
  supervised.refused.add(flagOf(argument));
  leaveOutRefused(supervised);
  supervised.ports.emit(notice('controller.flag-left-out', { argument }));
  return 'refused';
}

function runWith(supervised: Supervised, { run: command, env, placed, hidden, added }: NextStart): void {
  supervised.plan = { ...supervised.plan, run: command, env, placed, hidden, added };
  leaveOutRefused(supervised);
  supervised.runningContent = undefined;
}

function leaveOutRefused(supervised: Supervised): void {
  const { plan, refused } = supervised;
  const { added = [] } = plan;
  const left = withoutFlags(added, refused);
  const isLeft = (word: string): boolean => !added.includes(word) || left.includes(word);
  supervised.plan = { ...plan, run: plan.run.filter(isLeft), added: left };
}

function hasExited(error: unknown): boolean {
  return error instanceof DevloopError && error.code === 'controller.exited';
}

/**
 * The grace period of the disposal, much shorter than before a new start: the manager in the cluster is back, and two managers must not
 * work side by side for long.
 */
const LAST_GRACE_MS = 2_000;

async function end(running: Running | undefined): Promise<void> {
  const ended = new AbortController();
  const ending = running?.stop().finally(() => ended.abort());
  if (ending && (await sleep(LAST_GRACE_MS, ended.signal))) running?.kill();
  await ending;
}

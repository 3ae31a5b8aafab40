import { sleep } from '../async.ts';
import type { DevloopError } from '../errors.ts';
import { requireFreePort } from '../machine/port.ts';
import type { DevloopEvent } from '../report/events.ts';
import { type Builder, createBuilder } from './builder.ts';
import { createChanges } from './changes.ts';
import { rememberSources, watch } from './followed-sources.ts';
import { removeProgram } from './programs.ts';
import { step } from './restart.ts';
import {
  type Effect,
  isSettled,
  type Problem,
  type RestartEvent,
  type State,
  servingState,
} from './restart-state.ts';
import { observe, observeEnd, problemOf, run } from './runner.ts';
import { noticeSlowEnd } from './slow-end.ts';
import { type Standing, standingOf } from './standing.ts';
import {
  type ControllerPlan,
  type Following,
  makeStandBy,
  noteStarted,
  type Supervised,
  startable,
} from './supervised.ts';
import type { Watcher } from './watch/watch.ts';

type Report = (event: RestartEvent) => void;

/**
 * Follows the sources and the controller from this state on: each event in turn goes through `step`, and `perform` carries out the effects.
 * An effect only starts work; its outcome comes back as another event.
 */
export async function follow(
  supervised: Supervised,
  from: State = servingState(performance.now(), {
    lastBuild: supervised.lastBuild,
    isBuilt: supervised.plan.build !== undefined,
    keepsWorked: supervised.program.file !== undefined && supervised.plan.debugging === undefined,
  }),
): Promise<void> {
  const { ports, disposed } = supervised;
  const settled = Promise.withResolvers<void>();
  const ended = new AbortController();
  const { signal } = ended;
  let state = from;
  let refreshes = 0;
  const report = inTurn((event) => {
    const next = step(state, event);
    state = next.state;
    for (const effect of next.effects) perform(effect);
    if (isSettled(state)) settled.resolve();
  });
  const watchSignal = AbortSignal.any([ports.signal, disposed, signal]);
  const fail = (error: unknown) => {
    if (!watchSignal.aborted) settled.reject(error);
  };
  const changes = createChanges((files, at) => report({ is: 'changed', files, at }));
  const watching = watch(supervised, changes.add, watchSignal);
  // A refresh can still find a source that is newer than the build.
  const standing = (): Standing =>
    refreshes > 0 ? { is: 'pending', for: 'the list of sources' } : standingOf(state);
  supervised.following = followingOf(supervised, { changes, report, watching, standing });
  const remember = (watcher: Watcher | undefined) => rememberSources(supervised, watcher);
  watching.then(remember).catch(fail);
  const builder = createBuilder(supervised, report, (succeeded) => {
    refreshes += 1;
    const refreshing = watching
      .then((watcher) => watcher?.refresh({ sinceMs: supervised.buildSpan.fromMs, succeeded }))
      .finally(() => (refreshes -= 1))
      .then(async () => remember(await watching));
    refreshing.catch(fail);
  });
  const perform = createPerformer(supervised, builder, report, signal);
  const leave = () => report({ is: 'leave', at: performance.now() });
  ports.signal.addEventListener('abort', leave, { signal });
  disposed.addEventListener('abort', () => settled.resolve(), { signal });
  try {
    if (supervised.running)
      void observe(supervised.running, { number: state.lastRun, plan: supervised.plan }, report);
    if (disposed.aborted) settled.resolve();
    if (ports.signal.aborted) leave();
    await settled.promise;
  } finally {
    supervised.following = undefined;
    ended.abort();
    if (state.heldAt !== undefined) supervised.gate?.release();
    const watcher = await watching.catch(() => undefined);
    await Promise.all([builder.end(), watcher?.[Symbol.asyncDispose]()]);
  }
}

/** What a person can do from now on. */
function followingOf(
  supervised: Supervised,
  { changes, report, watching, standing }: FollowedParts,
): Following {
  return {
    restart() {
      // Otherwise the controller would not be restarted after an identical build.
      supervised.runningContent = undefined;
      changes.forget();
      report({ is: 'changed', files: [], at: performance.now() });
    },
    crash: () => report({ is: 'crash', at: performance.now() }),
    followFiles: (on) => (on ? changes.resume() : changes.pause()),
    ignoredFiles: () => changes.waiting(),
    look: async () => await (await watching)?.look(),
    standing,
  };
}

interface FollowedParts {
  changes: ReturnType<typeof createChanges>;
  report: Report;
  watching: Promise<Watcher | undefined>;
  standing(): Standing;
}

function createPerformer(
  supervised: Supervised,
  builder: Builder,
  report: Report,
  signal: AbortSignal,
): (effect: Effect) => void {
  const { ports, disposed } = supervised;
  let backOff = new AbortController();
  let delay = new AbortController();
  let starting = new AbortController();
  const wait = (ms: number, ended: AbortSignal, over: RestartEvent['is'] & `${string}-over`): void =>
    void sleep(ms, AbortSignal.any([signal, ended])).then((isOver) => {
      if (isOver) report({ is: over, at: performance.now() });
    });
  // The exit that the disposal causes is not reported.
  const emit = (event: DevloopEvent): void => void (disposed.aborted || ports.emit(event));
  return (effect) => {
    switch (effect.do) {
      case 'hold':
        return supervised.gate?.hold(() => report({ is: 'half-waited', at: performance.now() }));
      case 'release':
        return supervised.gate?.release();
      case 'down':
        emit({ type: 'controller.down', why: effect.why });
        return supervised.gate?.controllerDown(effect.why, effect.ms);
      case 'emit':
        return emit(supervised.plan.webhook ? effect.event : withoutHeld(effect.event));
      case 'build':
        supervised.lastBuild = effect.build;
        return builder.build(effect.build);
      case 'abort-build':
        return builder.abort();
      case 'stop':
        starting.abort();
        return stop(supervised, effect.run, report);
      case 'kill':
        return supervised.running?.kill();
      case 'start':
        starting = new AbortController();
        return void startAgain(supervised, effect, report, starting.signal);
      case 'keep':
        return keep(supervised);
      case 'back-off':
        backOff = new AbortController();
        return wait(effect.ms, backOff.signal, 'back-off-over');
      case 'end-back-off':
        return backOff.abort();
      case 'delay-build':
        delay = new AbortController();
        return wait(effect.ms, delay.signal, 'delay-over');
      case 'end-delay':
        return delay.abort();
      default:
        effect satisfies never;
    }
  };
}

/** Without webhooks, no review waits while a process is replaced. */
function withoutHeld(event: DevloopEvent): DevloopEvent {
  if (event.type !== 'controller.replaced') return event;
  const { heldMs: _, ...replaced } = event;
  return replaced;
}

/** Keeps the newest program in place of the one that worked before. */
function keep(supervised: Supervised): void {
  const { worked, program } = supervised;
  supervised.worked = program;
  if (worked !== undefined && worked !== program) void removeProgram(worked);
}

function stop(supervised: Supervised, run: number, report: Report): void {
  const { running, plan } = supervised;
  if (running === undefined) return;
  void noticeSlowEnd(supervised, running.stop());
  void observeEnd(running, plan.webhook, run, report);
  makeStandBy(supervised);
}

/** An effect can cause an event at once; that event waits until the effects before it are done. */
function inTurn(handle: Report): Report {
  const waiting: RestartEvent[] = [];
  let busy = false;
  return (event) => {
    waiting.push(event);
    if (busy) return;
    busy = true;
    try {
      for (let next = waiting.shift(); next; next = waiting.shift()) handle(next);
    } finally {
      busy = false;
    }
  };
}

/**
 * Starts the controller if its port is free: another program may have taken the port, or a process that the last controller started outside
 * its group may still have it. `stopped` is aborted if the controller is to be replaced before it was started.
 */
async function startAgain(
  supervised: Supervised,
  { run: number, program: which }: Extract<Effect, { do: 'start' }>,
  report: Report,
  stopped: AbortSignal,
): Promise<void> {
  const { ports, disposed } = supervised;
  const unready = await startProblem(supervised.plan);
  // The disposal stops only processes that were started before it.
  if (disposed.aborted) return;
  const problem = unready ?? (stopped.aborted ? { message: 'The controller was not started.' } : undefined);
  const at = performance.now();
  if (problem) return report({ is: 'exited', run: number, code: null, neverBegan: true, problem, at });
  const program = (which === 'worked' && supervised.worked) || supervised.program;
  const running = run(supervised.plan, startable(supervised, program), ports.emit, disposed);
  noteStarted(supervised, running, program);
  void observe(running, { number, plan: supervised.plan }, report);
}

/** How long the port of a controller that has ended can stay in use. */
const PORT_MS = 2_000;

async function startProblem({ late = [], webhook }: ControllerPlan): Promise<Problem | undefined> {
  try {
    // What only this start has is made now, if a process that waits to become the controller has not needed it before.
    for (const { value } of late) value();
    if (webhook) await requireFreePort(webhook.port, PORT_MS);
    return undefined;
  } catch (error) {
    return problemOf(error as DevloopError);
  }
}

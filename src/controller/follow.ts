import { DevloopError } from '../errors.ts';
import { createBuilder } from './builder.ts';
import { describeExit, exitCause } from './exit-cause.ts';
import type { Supervised } from './plan.ts';
import type { Exit } from './process.ts';
import { step } from './restart.ts';
import { type Effect, isSettled, type Problem, type RestartEvent, servingState } from './restart-state.ts';
import { type Running, run } from './runner.ts';
import { followSources } from './source-changes.ts';

/**
 * Carries out what `step` decides, one event after the other. An effect only starts work; what becomes of that comes back as
 * another event.
 */
export async function follow(supervised: Supervised): Promise<void> {
  const { ports, disposed } = supervised;
  const settled = Promise.withResolvers<void>();
  const report = inTurn(handle);
  const builder = createBuilder(supervised, report, () => sources.refresh());
  const sources = followSources(supervised, report, settled.reject);
  let state = servingState(performance.now());
  let backOff: NodeJS.Timeout | undefined;

  function handle(event: RestartEvent): void {
    const next = step(state, event);
    state = next.state;
    for (const effect of next.effects) perform(effect);
    if (isSettled(state)) settled.resolve();
  }

  function perform(effect: Effect): void {
    switch (effect.do) {
      case 'hold':
        ports.gate.hold();
        break;
      case 'release':
        ports.gate.release();
        break;
      case 'give-notice':
        ports.gate.failFast(effect.why, effect.ms);
        break;
      case 'say':
        // The end that disposal brings about is no news.
        if (!disposed.aborted) ports.emit(effect.event);
        break;
      case 'build':
        builder.build(effect.build);
        break;
      case 'abort-build':
        builder.abort();
        break;
      case 'stop':
        void supervised.running?.stop();
        break;
      case 'start':
        startAgain(supervised, effect.run, report);
        break;
      case 'back-off':
        backOff = setTimeout(() => report({ is: 'back-off-over', at: performance.now() }), effect.ms);
        break;
      case 'end-back-off':
        clearTimeout(backOff);
        break;
      default:
        effect satisfies never;
    }
  }

  const leave = () => report({ is: 'leave', at: performance.now() });
  const giveUp = () => settled.resolve();
  ports.signal.addEventListener('abort', leave, { once: true });
  disposed.addEventListener('abort', giveUp, { once: true });
  try {
    if (supervised.running) void observe(supervised.running, state.lastRun, report);
    if (disposed.aborted) giveUp();
    if (ports.signal.aborted) leave();
    await settled.promise;
  } finally {
    ports.signal.removeEventListener('abort', leave);
    disposed.removeEventListener('abort', giveUp);
    clearTimeout(backOff);
    if (state.heldAt !== undefined) ports.gate.release();
    await Promise.all([builder.end(), sources.end()]);
  }
}

/** An effect may cause an event at once; it waits until the effects before it are done. */
function inTurn(handle: (event: RestartEvent) => void): (event: RestartEvent) => void {
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

function startAgain(supervised: Supervised, number: number, report: (event: RestartEvent) => void): void {
  // Disposal has asked its process to end, and knows of no other.
  if (supervised.disposed.aborted) return;
  const { plan, ports, program, disposed } = supervised;
  supervised.running = run(plan, program.run, ports.emit, disposed);
  supervised.runningContent = program.content;
  void observe(supervised.running, number, report);
}

/** Tells what becomes of one process: whether it gets ready, and, last, its end. */
async function observe(
  running: Running,
  number: number,
  report: (event: RestartEvent) => void,
): Promise<void> {
  let problem: Problem | undefined;
  try {
    await running.ready;
    report({ is: 'ready', run: number, pid: running.pid!, at: performance.now() });
  } catch (error) {
    problem = problemOf(error);
    const late = error instanceof DevloopError && error.code === 'controller.not-ready';
    if (late) report({ is: 'not-ready', run: number, problem: problem!, at: performance.now() });
    if (late) problem = undefined;
  }
  const exit = await running.exited;
  problem ??= endOf(exit, running.lastLines());
  report({ is: 'exited', run: number, code: exit.code, problem, at: performance.now() });
}

function endOf(exit: Exit, lines: string[]): Problem {
  const ended = `the controller ${describeExit(exit)}`;
  const cause = exitCause(lines);
  return cause ? { message: `${ended}: ${cause.message}`, hint: cause.hint } : { message: ended };
}

/** Anything but a DevloopError is the abort that came with the disposal. */
function problemOf(error: unknown): Problem | undefined {
  if (!(error instanceof DevloopError)) return undefined;
  return error.hint === undefined ? { message: error.message } : { message: error.message, hint: error.hint };
}

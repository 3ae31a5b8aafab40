import { DevloopError } from '../errors.ts';
import { requireFreePort } from '../machine/port.ts';
import { buildOnce } from './builder.ts';
import { endedByItself } from './exit-cause.ts';
import { follow } from './follow.ts';
import { goAdvice } from './go/toolchain.ts';
import { type ControllerPlan, commandOf, type Gate, type Supervised, type SupervisorPorts } from './plan.ts';
import { run } from './runner.ts';

export type { ControllerPlan, Gate } from './plan.ts';

export interface Supervisor extends AsyncDisposable {
  /** The first build; throws 'controller.build-failed' with the compiler's output. */
  build(): Promise<void>;
  /** The first start: resolves when the controller is ready, and leaves no process behind when it throws. */
  start(): Promise<void>;
  /** From its next start on, the controller gets these arguments and variables; so the next change starts it again even where the program is the same. */
  runWith(next: Pick<ControllerPlan, 'run' | 'env' | 'hidden'>): void;
  /** Builds and replaces the controller at each change, and restarts it when it exits, until the signal aborts. */
  follow(gate?: Gate): Promise<void>;
  /**
   * The session is ending, so this controller is the last one: releases the requests, and has them fail at once when it does not
   * answer. A replacement that has begun is completed first, because requests wait for it.
   */
  leave(gate: Gate): Promise<void>;
}

/** A manager that creates its own certificate asks for a restart with exit code 0, before it was ever ready. */
const START_ATTEMPTS = 3;

export function createSupervisor(plan: ControllerPlan, ports: SupervisorPorts): Supervisor {
  const disposal = new AbortController();
  const supervised: Supervised = {
    plan,
    ports,
    gate: undefined,
    disposed: disposal.signal,
    program: { run: plan.run, content: undefined, file: undefined },
    running: undefined,
    runningContent: undefined,
    buildSpan: { fromMs: Date.now(), toMs: Date.now() },
  };
  let following: Promise<void> | undefined;
  return {
    build: () => firstBuild(supervised),
    start: () => firstStart(supervised),
    runWith({ run: command, env, hidden }) {
      supervised.plan = { ...supervised.plan, run: command, env, hidden };
      supervised.runningContent = undefined;
    },
    follow(gate) {
      supervised.gate = gate;
      following ??= follow(supervised);
      return following;
    },
    async leave(gate) {
      gate.failFast(NO_CONTROLLER);
      await following?.catch(() => {});
      const { running } = supervised;
      const isGone = (): void => gate.controllerDown(NO_CONTROLLER, Number.POSITIVE_INFINITY);
      if (running === undefined || running.hasExited) isGone();
      else void running.exited.then(isGone);
      gate.release();
    },
    async [Symbol.asyncDispose]() {
      disposal.abort();
      await supervised.running?.stop();
      await following?.catch(() => {});
      // A process that was started at the very moment of the disposal.
      await supervised.running?.stop();
    },
  };
}

export const NO_CONTROLLER = 'the session is ending, and no controller is running';

async function firstBuild(supervised: Supervised): Promise<void> {
  const { plan, ports, disposed } = supervised;
  if (plan.build === undefined) return;
  ports.emit({ type: 'build.started', reason: [] });
  const built = await buildOnce(supervised, 0, AbortSignal.any([ports.signal, disposed]));
  if (!built.ok) {
    const message = `The controller failed to build (${plan.build.join(' ')}):\n${built.output}`;
    const hint = goAdvice(built.output) ?? 'Fix it and run devloop up again.';
    throw new DevloopError('controller.build-failed', message, { hint });
  }
  ports.emit({ type: 'build.done', ms: built.ms });
  supervised.program = built.program;
}

async function firstStart(supervised: Supervised): Promise<void> {
  const { plan, ports, program, disposed } = supervised;
  const signal = AbortSignal.any([ports.signal, disposed]);
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    if (plan.webhook) await requireFreePort(plan.webhook.port);
    const running = run(plan, commandOf(supervised), ports.emit, signal);
    supervised.running = running;
    supervised.runningContent = program.content;
    try {
      return await running.ready;
    } catch (error) {
      const { code } = await running.stop();
      supervised.running = undefined;
      if (!isEnd(error, code)) throw error;
      if (!plan.asksForRestart) throw endedByItself(plan.rivals);
      if (attempt === START_ATTEMPTS) throw error;
    }
  }
}

function isEnd(error: unknown, code: number | null): boolean {
  return error instanceof DevloopError && error.code === 'controller.exited' && code === 0;
}

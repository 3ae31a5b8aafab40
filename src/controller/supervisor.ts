import { DevloopError } from '../errors.ts';
import { requireFreePort } from '../machine/port.ts';
import { follow } from './follow.ts';
import { goAdvice } from './go/advice.ts';
import type { ControllerPlan, Supervised, SupervisorPorts } from './plan.ts';
import { buildProgram } from './programs.ts';
import { run } from './runner.ts';

export type { ControllerPlan, Gate } from './plan.ts';

export interface Supervisor extends AsyncDisposable {
  /** The first build; throws 'controller.build-failed' with the compiler's lines. */
  build(): Promise<void>;
  /** The first start: resolves when the controller is ready, and leaves no process behind when it throws. */
  start(): Promise<void>;
  /** Builds and replaces the controller at each change, and restarts it when it ends, until the signal aborts. */
  follow(): Promise<void>;
}

/** A manager that fills its own certificate asks for a restart by exit code 0, before it was ever ready. */
const START_ATTEMPTS = 3;

export function createSupervisor(plan: ControllerPlan, ports: SupervisorPorts): Supervisor {
  const disposal = new AbortController();
  const supervised: Supervised = {
    plan,
    ports,
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
    follow: () => (following ??= follow(supervised)),
    async [Symbol.asyncDispose]() {
      disposal.abort();
      await supervised.running?.stop();
      await following?.catch(() => {});
      // A process that was started in the very moment of the disposal.
      await supervised.running?.stop();
    },
  };
}

async function firstBuild(supervised: Supervised): Promise<void> {
  const { plan, ports, disposed } = supervised;
  if (plan.build === undefined) return;
  supervised.buildSpan = { fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
  ports.emit({ type: 'build.started', reason: [] });
  const built = await buildProgram(plan, 0, AbortSignal.any([ports.signal, disposed]));
  supervised.buildSpan.toMs = Date.now();
  if (!built.ok) {
    const hint = goAdvice(built.output) ?? 'Mend what it says, and run devloop up again.';
    const message = `The controller does not build (${plan.build.join(' ')}):\n${built.output}`;
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
    const running = run(plan, program.run, ports.emit, signal);
    supervised.running = running;
    supervised.runningContent = program.content;
    try {
      return await running.ready;
    } catch (error) {
      const { code } = await running.stop();
      supervised.running = undefined;
      if (!asksForRestart(error, code) || attempt === START_ATTEMPTS) throw error;
    }
  }
}

function asksForRestart(error: unknown, code: number | null): boolean {
  return error instanceof DevloopError && error.code === 'controller.exited' && code === 0;
}

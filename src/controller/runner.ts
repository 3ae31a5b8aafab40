import { rm } from 'node:fs/promises';
import { startTimeOf } from '../machine/process-identity.ts';
import type { Emit } from '../report/events.ts';
import { recordController } from './orphan.ts';
import { type ControllerProcess, type Exit, startController } from './process.ts';
import { type Endpoint, waitUntilReady } from './readiness.ts';

export interface RunPlan {
  cwd: string;
  env: Record<string, string>;
  webhook: Endpoint | undefined;
  graceMs: number;
  readyMs: number;
  stateFile: string;
}

/** One run of the controller. */
export interface Running {
  readonly pid: number | undefined;
  /** Rejects with 'controller.exited' or 'controller.not-ready'. */
  readonly ready: Promise<void>;
  readonly exited: Promise<Exit>;
  /** Of its output. */
  lastLines(): string[];
  stop(): Promise<Exit>;
}

/** A manager without webhooks tells nobody that it is ready; one that cannot start mostly ends within this. */
const OBSERVE_MS = 1500;
const STOP_REPORT_MS = 2000;

/** Starts the controller, remembers it for a session that finds this one killed, and reports what becomes of it. */
export function run(plan: RunPlan, command: string[], emit: Emit, signal: AbortSignal): Running {
  const start = performance.now();
  const controller = startController({ command, cwd: plan.cwd, env: plan.env }, emit);
  let stopping = false;
  const recorded = record(plan.stateFile, controller);
  const exited = forget(plan.stateFile, controller, recorded);
  void controller.exited.then(({ code, signal }) => {
    const { pid } = controller;
    if (pid !== undefined) emit({ type: 'controller.exited', pid, code, signal, expected: stopping });
  });
  const ready = waitUntilReady(controller, {
    webhook: plan.webhook,
    observeMs: OBSERVE_MS,
    deadlineMs: plan.readyMs,
    signal,
    onWaiting: (seconds) =>
      emit({
        type: 'waiting',
        for: 'the controller to be ready',
        seconds,
        limitSeconds: plan.readyMs / 1000,
      }),
  }).then(() =>
    emit({ type: 'controller.ready', pid: controller.pid!, ms: Math.round(performance.now() - start) }),
  );
  ready.catch(() => {});
  return {
    pid: controller.pid,
    ready,
    exited,
    lastLines: () => controller.lastLines(),
    stop() {
      if (!stopping) reportStopping(exited, plan.graceMs, emit);
      stopping = true;
      void controller.stop({ graceMs: plan.graceMs });
      return exited;
    },
  };
}

async function record(file: string, { pid, command }: ControllerProcess): Promise<void> {
  const startTime = pid === undefined ? undefined : await startTimeOf(pid);
  if (pid !== undefined && startTime !== undefined) await recordController(file, { pid, startTime, command });
}

async function forget(file: string, controller: ControllerProcess, recorded: Promise<void>): Promise<Exit> {
  const exit = await controller.exited;
  await recorded;
  await rm(file, { force: true });
  return exit;
}

function reportStopping(exited: Promise<Exit>, graceMs: number, emit: Emit): void {
  const start = performance.now();
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - start) / 1000);
    emit({ type: 'waiting', for: 'the controller to end', seconds, limitSeconds: graceMs / 1000 });
  }, STOP_REPORT_MS);
  void exited.then(() => clearInterval(timer));
}

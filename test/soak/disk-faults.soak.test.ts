/**
 * Each system call of devloop that writes one of its files fails: the disk is full, broken, read-only, or forbids it. devloop goes on, or
 * ends with a cause and never with a stack; either way one `devloop down` from another directory restores every object.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startCluster, type TestCluster } from '../cluster/cluster.ts';
import { type DevloopRun, runDevloop, startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { hollowNode } from '../support/hollow-node.ts';
import { HOOK_NAMESPACE, installHooks } from '../support/hook-operator.ts';
import { record } from '../support/repeat.ts';
import { snapshot } from '../support/snapshot.ts';
import { type Call, failAt, isLasting, ONE_FILE_THREAD, traceCalls } from '../support/strace.ts';

const SERVER = join(import.meta.dirname, '../fixtures/e2e/hook-server.mjs');
const ERRORS = ['ENOSPC', 'EIO', 'EROFS', 'EACCES'];
const ENOUGH_FAILURES = 3;
/** No address: calls to the API server are not about the disk. */
const NOWHERE = '';

interface Phase {
  name: string;
  start(): Promise<DevloopRun>;
  /** Has it begin, and resolves when it is through, or has ended. */
  run(devloop: DevloopRun): Promise<unknown>;
}

let cluster: TestCluster;
let node: AsyncDisposable;
let checkout: string;
let before: Awaited<ReturnType<typeof snapshot>>;
let changes = 0;

const env = (): Record<string, string> => ({ KUBECONFIG: cluster.kubeconfig, ...ONE_FILE_THREAD });

beforeAll(async () => {
  // Rounds are short without real Pods; everything that devloop talks to is real.
  const parts = { pods: false, aggregatorRouting: true, certManager: false };
  cluster = await startCluster({ ...parts, log: (line) => console.error(line) });
  node = await hollowNode(cluster);
  await installHooks(cluster);
  before = await snapshot(cluster, HOOK_NAMESPACE);
  checkout = await mkdtemp(join(tmpdir(), 'devloop-faults-'));
  const run = JSON.stringify([process.execPath, SERVER, 'local', '9444', '9445']);
  const settings = `service: [${HOOK_NAMESPACE}/first, ${HOOK_NAMESPACE}/second]\nroute: direct\ncontroller:\n  run: ${run}\n`;
  await writeFile(join(checkout, 'devloop.yaml'), settings);
});

afterAll(async () => {
  await node?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
  if (checkout) await rm(checkout, { recursive: true, force: true });
});

async function begun(): Promise<DevloopRun> {
  const devloop = startDevloop(['up'], { cwd: checkout, env: env() });
  await devloop.waitFor('discovered', ({ what }) => what === 'cluster');
  return devloop;
}

async function serving(): Promise<DevloopRun> {
  const up = startDevloop(['up'], { cwd: checkout, env: env() });
  await up.waitFor('session.ready');
  return up;
}

async function interrupt(up: DevloopRun): Promise<void> {
  up.signal('SIGINT');
  await up.exited;
}

const PHASES: Phase[] = [
  { name: 'up', start: begun, run: (up) => up.waitFor('session.ready') },
  {
    name: 'a restart',
    start: serving,
    async run(up) {
      await writeFile(join(checkout, 'saved.txt'), String(changes++));
      // A controller that cannot be recorded is not started, which is a warning.
      await up.waitForAny(({ type }) => type === 'controller.replaced' || type === 'warning');
    },
  },
  { name: 'Ctrl-C', start: serving, run: interrupt },
];

async function fileCallsOf({ start, run }: Phase): Promise<Call[]> {
  await using devloop = await start();
  const trace = await traceCalls(devloop.pid, join(tmpdir(), 'calls.log'));
  await run(devloop);
  const calls = await trace.lasting(NOWHERE);
  await interrupt(devloop);
  await expectRestored();
  return calls;
}

/** Whether a call of this kind failed, and not one of another kind. */
async function failsWell({ start, run }: Phase, call: Call, error: string): Promise<boolean> {
  await using devloop = await start();
  const trap = await failAt(devloop.pid, call, error, join(tmpdir(), 'failed.log'));
  await Promise.race([devloop.exited, run(devloop).catch(() => undefined)]);
  const at = await trap.sprung();
  await interrupt(devloop);
  await expectRestored();
  if (at === undefined || !isLasting(at, NOWHERE)) return false;
  await expectCause(devloop);
  return true;
}

/** It was interrupted, or failed for a reason that a person can read. */
async function expectCause({ exited, events, log }: DevloopRun): Promise<void> {
  const code = await exited;
  expect(log()).not.toMatch(/This is a bug|\n {4}at /);
  if (code === 130) return;
  expect(code, log()).toBeGreaterThan(1);
  expect(events.at(-1), log()).toMatchObject({ type: 'error', code: expect.stringMatching(/\./) });
}

async function expectRestored(): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'home-'));
  const own = Object.fromEntries(
    ['HOME', 'XDG_STATE_HOME', 'XDG_CACHE_HOME', 'XDG_CONFIG_HOME'].map((name) => [name, home]),
  );
  const { code, log } = await runDevloop(['down'], { cwd: home, env: { ...env(), ...own } });
  await rm(home, { recursive: true });
  expect(code, log).toBe(0);
  // The controllers of slices and Endpoints hear of a Pod later than devloop does.
  await eventually(async () => expect(await snapshot(cluster, HOOK_NAMESPACE)).toEqual(before));
}

it.each(PHASES)('a disk that fails at each call of $name', async (phase) => {
  const startedAt = performance.now();
  const calls = await fileCallsOf(phase);
  const failures: string[] = [];
  let count = 0;
  for (const error of ERRORS) {
    for (const call of calls) {
      if (failures.length === ENOUGH_FAILURES) break;
      try {
        if (await failsWell(phase, call, error)) count++;
      } catch (failure) {
        failures.push(`${error} at ${call.thread}: ${call.text}\n${(failure as Error).message}`);
      }
    }
  }
  record(`a disk fault in ${phase.name}`, count, startedAt);
  expect(failures).toEqual([]);
});

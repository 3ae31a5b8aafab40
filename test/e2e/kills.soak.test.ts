/**
 * kill -9 right before each system call of devloop that changes a file or sends a call to the API server. Whatever the moment, one
 * `devloop down` from another directory, with an empty home, restores every object.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { type DevloopRun, runDevloop, startDevloop } from '../support/devloop.ts';
import { type HollowOperator, sharedHollowOperator } from '../support/hollow-operator.ts';
import { HOOK_NAMESPACE } from '../support/hook-operator.ts';
import { inSoak, progress, record, SOAK } from '../support/repeat.ts';
import { type Call, isLasting, killBefore, ONE_FILE_THREAD, traceCalls } from '../support/strace.ts';

/** A change that breaks one moment often breaks the next one, too. */
const ENOUGH_FAILURES = 3;

interface Phase {
  name: string;
  /** A process of devloop that is about to begin the phase. */
  start(): Promise<DevloopRun>;
  /** Begins the phase, and resolves at its end. */
  run(devloop: DevloopRun): Promise<unknown>;
}

let operator: HollowOperator;
let changes = 0;

const env = (): Record<string, string> => ({ KUBECONFIG: operator.cluster.kubeconfig, ...ONE_FILE_THREAD });
const apiServer = (): string => `${operator.cluster.nodeIp}:6443`;

beforeAll(async () => {
  operator = await sharedHollowOperator();
  // Reading it starts the thread for file operations before anything is changed.
  await writeFile(join(operator.directory, 'devloop.yaml'), 'route: direct\n');
});

/** As soon as it has read its settings; it has not changed anything yet. */
async function begun(args: string[]): Promise<DevloopRun> {
  const devloop = startDevloop(args, { cwd: operator.directory, env: env() });
  await devloop.waitFor('discovered', ({ what }) => what === 'cluster');
  return devloop;
}

async function serving(): Promise<DevloopRun> {
  const up = startDevloop(operator.up, { cwd: operator.directory, env: env() });
  await up.waitFor('session.ready');
  return up;
}

async function kill(devloop: DevloopRun): Promise<void> {
  devloop.signal('SIGKILL');
  await devloop.exited;
}

/** The same certificate, written differently, so that it still fits the caBundle. */
async function rewriteCertificate(): Promise<void> {
  const { kubectl } = operator.cluster;
  const secret = ['-n', HOOK_NAMESPACE, 'secret', 'first-cert'];
  const { data } = JSON.parse(await kubectl(['get', ...secret, '-o', 'json']));
  const longer = `${Buffer.from(data['tls.crt'], 'base64')}\n`;
  const patch = { data: { 'tls.crt': Buffer.from(longer).toString('base64') } };
  await kubectl(['patch', ...secret, '-p', JSON.stringify(patch)]);
}

/**
 * In `npm test`, the calls at which one kill is tried until it hits: every third one from the middle of `up`, when it has changed something.
 * Neighbours often miss together, since another run can make all calls of a group in another thread.
 */
const QUICK_TRIES = 20;
const QUICK_EVERY = 3;

const PHASES: Phase[] = [
  { name: 'up', start: () => begun(operator.up), run: (up) => up.waitFor('session.ready') },
  {
    name: 'an up that restores what a killed one left',
    async start() {
      await using up = await serving();
      await kill(up);
      return await begun(operator.up);
    },
    run: (up) => up.waitFor('session.ready'),
  },
  {
    name: 'a restart',
    start: serving,
    async run(up) {
      await writeFile(join(operator.directory, 'saved.txt'), String(changes++));
      await up.waitFor('controller.replaced');
    },
  },
  {
    name: 'a renewed certificate',
    start: serving,
    async run(up) {
      const seen = new Set(up.events);
      await rewriteCertificate();
      await up.waitFor('certificate.written', (event) => !seen.has(event));
    },
  },
  {
    name: 'Ctrl-C',
    start: serving,
    run(up) {
      up.signal('SIGINT');
      return up.exited;
    },
  },
  {
    name: 'down',
    async start() {
      await using up = await serving();
      await kill(up);
      return await begun(['down']);
    },
    run: (down) => down.exited,
  },
];

/** The calls that one uninterrupted run of the phase makes. */
async function callsOf({ start, run }: Phase): Promise<Call[]> {
  await using devloop = await start();
  const trace = await traceCalls(devloop.pid, join(tmpdir(), 'calls.log'));
  await run(devloop);
  const calls = await trace.lasting(apiServer());
  await kill(devloop);
  await expectRestored();
  return calls;
}

/** Whether the process was killed at that call, and not before a call of another kind. */
async function killAt({ start, run }: Phase, call: Call): Promise<boolean> {
  await using devloop = await start();
  const trap = await killBefore(devloop.pid, call, join(tmpdir(), 'killed.log'));
  const passed = run(devloop).catch(() => undefined);
  await Promise.race([devloop.exited, passed]);
  await kill(devloop);
  const at = await trap.sprung();
  await expectRestored();
  return at !== undefined && isLasting(at, apiServer());
}

async function expectRestored(): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'home-'));
  const own = Object.fromEntries(
    ['HOME', 'XDG_STATE_HOME', 'XDG_CACHE_HOME', 'XDG_CONFIG_HOME'].map((name) => [name, home]),
  );
  const { code, log } = await runDevloop(['down'], { cwd: home, env: { ...env(), ...own } });
  await rm(home, { recursive: true });
  expect(code, log).toBe(0);
  await operator.expectRestored();
}

const named = PHASES.map((phase) => [phase.name, phase] as const);

it.each(inSoak(named, 'up'))('kill -9 before each lasting system call of %s', async (_, phase) => {
  const startedAt = performance.now();
  const failures: string[] = [];
  const what = `kill -9 before a lasting system call of ${phase.name}`;
  const all = await callsOf(phase);
  const middle = Math.floor(all.length / 2);
  const spread = all.slice(middle).filter((_, index) => index % QUICK_EVERY === 0);
  const calls = SOAK ? all : spread.slice(0, QUICK_TRIES);
  const tell = progress(what, calls.length);
  let count = 0;
  for (const call of calls) {
    try {
      if (await killAt(phase, call)) count++;
      tell(count);
      if (!SOAK && count > 0) break;
    } catch (error) {
      failures.push(
        `before ${call.name} ${call.nth} of ${call.thread}: ${call.text}\n${(error as Error).message}`,
      );
      if (failures.length === ENOUGH_FAILURES) break;
    }
  }
  record(what, count, startedAt);
  expect(failures).toEqual([]);
  expect(count).toBeGreaterThan(0);
});

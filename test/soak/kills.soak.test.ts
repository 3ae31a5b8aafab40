/**
 * kill -9 right before each system call of devloop that changes a file or sends a call to the API server. Whatever the moment, one
 * `devloop down` from another directory, with an empty home, restores every object.
 */
import { readdirSync, readFileSync } from 'node:fs';
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
import { type Call, isLasting, killBefore, ONE_FILE_THREAD, traceCalls } from '../support/strace.ts';

const SERVER = join(import.meta.dirname, '../fixtures/e2e/hook-server.mjs');
/** Whoever breaks one moment often breaks the next one too. */
const ENOUGH_FAILURES = 3;

interface Phase {
  name: string;
  /** A process of devloop that is about to begin the phase. */
  start(): Promise<DevloopRun>;
  /** Has it begin, and resolves at its end. */
  run(devloop: DevloopRun): Promise<unknown>;
}

let cluster: TestCluster;
let node: AsyncDisposable;
let checkout: string;
let before: Awaited<ReturnType<typeof snapshot>>;
let changes = 0;

const env = (): Record<string, string> => ({ KUBECONFIG: cluster.kubeconfig, ...ONE_FILE_THREAD });
const apiServer = (): string => `${cluster.nodeIp}:6443`;

beforeAll(async () => {
  // Rounds are short without real Pods; everything that devloop talks to is real.
  const parts = { pods: false, aggregatorRouting: true, certManager: false };
  cluster = await startCluster({ ...parts, log: (line) => console.error(line) });
  node = await hollowNode(cluster);
  await installHooks(cluster);
  before = await snapshot(cluster, HOOK_NAMESPACE);
  checkout = await mkdtemp(join(tmpdir(), 'devloop-kills-'));
  const run = JSON.stringify([process.execPath, SERVER, 'local', '9444', '9445']);
  const settings = `service: [${HOOK_NAMESPACE}/first, ${HOOK_NAMESPACE}/second]\nroute: direct\ncontroller:\n  run: ${run}\n`;
  await writeFile(join(checkout, 'devloop.yaml'), settings);
});

afterAll(async () => {
  await node?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
  if (checkout) await rm(checkout, { recursive: true, force: true });
});

/** As soon as it has read its settings: it has changed nothing yet. */
async function begun(args: string[]): Promise<DevloopRun> {
  const devloop = startDevloop(args, { cwd: checkout, env: env() });
  await devloop.waitFor('discovered', ({ what }) => what === 'cluster');
  return devloop;
}

async function serving(): Promise<DevloopRun> {
  const up = startDevloop(['up'], { cwd: checkout, env: env() });
  await up.waitFor('session.ready');
  return up;
}

async function kill(devloop: DevloopRun): Promise<void> {
  devloop.signal('SIGKILL');
  await devloop.exited;
}

/** The same certificate in another text, so that it still fits the caBundle. */
async function rewriteCertificate(): Promise<void> {
  const secret = ['-n', HOOK_NAMESPACE, 'secret', 'first-cert'];
  const { data } = JSON.parse(await cluster.kubectl(['get', ...secret, '-o', 'json']));
  const longer = `${Buffer.from(data['tls.crt'], 'base64')}\n`;
  const patch = { data: { 'tls.crt': Buffer.from(longer).toString('base64') } };
  await cluster.kubectl(['patch', ...secret, '-p', JSON.stringify(patch)]);
}

const PHASES: Phase[] = [
  { name: 'up', start: () => begun(['up']), run: (up) => up.waitFor('session.ready') },
  {
    name: 'a restart',
    start: serving,
    async run(up) {
      await writeFile(join(checkout, 'saved.txt'), String(changes++));
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

/** What one uninterrupted run of the phase does. */
async function callsOf({ start, run }: Phase): Promise<Call[]> {
  await using devloop = await start();
  const trace = await traceCalls(devloop.pid, join(tmpdir(), 'calls.log'));
  await run(devloop);
  const calls = await trace.lasting(apiServer());
  await kill(devloop);
  await expectRestored();
  return calls;
}

/** Whether the process was killed there, and not before a call of another kind. */
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

/** A controller outlives its devloop; the next `up` would end it, unless devloop was killed before it had recorded it. */
function endControllers(): void {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    if (command.includes(SERVER)) process.kill(Number(pid), 'SIGKILL');
  }
}

async function expectRestored(): Promise<void> {
  endControllers();
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

it.each(PHASES)('kill -9 before each lasting system call of $name', async (phase) => {
  const startedAt = performance.now();
  const calls = await callsOf(phase);
  const failures: string[] = [];
  let count = 0;
  for (const call of calls) {
    try {
      if (await killAt(phase, call)) count++;
    } catch (error) {
      failures.push(
        `before ${call.name} ${call.nth} of ${call.thread}: ${call.text}\n${(error as Error).message}`,
      );
      if (failures.length === ENOUGH_FAILURES) break;
    }
  }
  record(`kill -9 before a lasting system call of ${phase.name}`, count, startedAt);
  expect(failures).toEqual([]);
});

/** Who holds an operator, whatever happened to the holder: it is refused with the holder's name, or taken over. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Lease, Service } from '../../../src/cluster/api/objects.ts';
import { HOLDER_ANNOTATION, SESSION_LABEL } from '../../../src/cluster/names.ts';
import { findMarked } from '../../../src/cluster/takeover/find-marked.ts';
import { LEASE_SECONDS } from '../../../src/cluster/takeover/lease.ts';
import { startTimeOf } from '../../../src/machine/system.ts';
import type { Target } from '../../../src/operator/target.ts';
import { liveHolder, sessionsInTheWay } from '../../../src/session/context/holders.ts';
import { type LocalMachine, thisMachine } from '../../../src/session/context/local-machine.ts';
import { type FakeCluster, fakeCluster } from '../../support/fake-cluster.ts';

const DAY_MS = 86_400_000;
const NAME = 'devloop.service.hook';

let cluster: FakeCluster;
let machine: LocalMachine;
let owner: ChildProcess;

beforeEach(async () => {
  machine = await thisMachine({ HOME: '/nonexistent' });
  owner = spawn('sleep', ['100'], { stdio: 'ignore' });
  await once(owner, 'spawn');
  cluster = fakeCluster();
});
afterEach(() => {
  vi.useRealTimers();
  owner.kill('SIGKILL');
});

interface Holding {
  host: string;
  pid: number;
  processStart: string;
}

const here = (): Holding => ({
  host: hostname(),
  pid: owner.pid!,
  processStart: startTimeOf(owner.pid!) ?? '',
});
const otherBoot = (): Holding => ({ ...here(), processStart: '00000000-1111-2222-3333-444444444444/1' });
/** The boot and the name are those of this machine, the PID namespace is not. */
const otherContainer = (): Holding => ({
  ...here(),
  processStart: here().processStart.replace(/\/\d+\//, '/1/'),
});
const elsewhere = (): Holding => ({ ...otherBoot(), host: 'elsewhere' });

async function killed(): Promise<Holding> {
  const holding = here();
  owner.kill('SIGKILL');
  await once(owner, 'exit');
  return holding;
}

interface Case {
  name: string;
  holder: () => Holding | string | Promise<Holding>;
  /** How far the holder's clock is ahead of this one's. */
  clockMs?: number;
  /** Whether its Lease is renewed while somebody looks. */
  renewed?: boolean;
  /** What else happens while somebody looks. */
  meanwhile?: () => void;
  alive: boolean;
}

const drop = (): void => cluster.drop('Lease', NAME, 'shop');

const CASES: Case[] = [
  { name: 'it runs on this machine', holder: here, alive: true },
  { name: 'it runs here, its clock a day ahead', holder: here, clockMs: DAY_MS, alive: true },
  { name: 'it runs here, its clock a day behind', holder: here, clockMs: -DAY_MS, alive: true },
  { name: 'it was killed here', holder: killed, alive: false },
  { name: 'it was killed here, its clock a day ahead', holder: killed, clockMs: DAY_MS, alive: false },
  {
    name: 'it was killed here, and its pid is that of another process',
    holder: () => ({ ...here(), processStart: here().processStart.replace(/\d+$/, '1') }),
    alive: false,
  },
  { name: 'it runs elsewhere', holder: elsewhere, renewed: true, alive: true },
  { name: 'it runs elsewhere, a day ahead', holder: elsewhere, clockMs: DAY_MS, renewed: true, alive: true },
  {
    name: 'it runs elsewhere, a day behind',
    holder: elsewhere,
    clockMs: -DAY_MS,
    renewed: true,
    alive: true,
  },
  { name: 'it is gone elsewhere', holder: elsewhere, alive: false },
  { name: 'it is gone elsewhere, a day ahead', holder: elsewhere, clockMs: DAY_MS, alive: false },
  { name: 'it is gone elsewhere, a day behind', holder: elsewhere, clockMs: -DAY_MS, alive: false },
  { name: 'it runs on a machine of the same name', holder: otherBoot, renewed: true, alive: true },
  { name: 'it is gone on a machine of the same name', holder: otherBoot, alive: false },
  {
    name: 'it runs in another container of this machine',
    holder: otherContainer,
    renewed: true,
    alive: true,
  },
  { name: 'it is gone in another container', holder: otherContainer, alive: false },
  { name: 'its Lease is deleted while it is watched', holder: elsewhere, meanwhile: drop, alive: false },
  { name: 'its Lease names no holder, and is renewed', holder: () => '', renewed: true, alive: true },
  { name: 'its Lease names no holder, and stands still', holder: () => '', alive: false },
  { name: 'its Lease names nonsense, and stands still', holder: () => '{"pid":-1}', alive: false },
];

function put({ clockMs = 0 }: Case, holder: Holding | string): void {
  const rest = { user: 'ann', since: '', route: '', targets: [], health: '' };
  const renewTime = new Date(Date.now() + clockMs).toISOString();
  const labels = { [SESSION_LABEL]: 's1' };
  const text = typeof holder === 'string' ? holder : JSON.stringify({ ...holder, ...rest });
  cluster.put<Service>('Service', {
    metadata: { name: 'hook', namespace: 'shop', labels },
    spec: { selector: { app: 'x' } },
  });
  cluster.put<Lease>('Lease', {
    metadata: { name: NAME, namespace: 'shop', labels, annotations: { [HOLDER_ANNOTATION]: text } },
    spec: { holderIdentity: 'ann@there (pid 7)', leaseDurationSeconds: LEASE_SECONDS, renewTime },
  });
}

/** Looks for longer than a Lease lasts, in no time. */
async function looking<T>({ clockMs = 0, renewed, meanwhile }: Case, look: Promise<T>): Promise<T> {
  let done = false;
  const settle = (): void => {
    done = true;
  };
  look.then(settle, settle);
  for (let second = 0; !done && second < 2 * LEASE_SECONDS; second++) {
    if (second === 4) meanwhile?.();
    if (renewed && second % 5 === 4)
      cluster.edit<Lease>('Lease', NAME, 'shop', ({ spec }) => {
        spec.renewTime = new Date(Date.now() + clockMs).toISOString();
      });
    await vi.advanceTimersByTimeAsync(1_000);
  }
  return await look;
}

describe.each(CASES)('where $name', (given) => {
  const observer = () => ({ api: cluster.api, emit: () => {}, signal: new AbortController().signal });

  beforeEach(async () => {
    put(given, await given.holder());
    vi.useFakeTimers();
  });

  it(`up ${given.alive ? 'refuses, and names it' : 'takes over'}`, async () => {
    const service = cluster.read<Service>('Service', 'hook', 'shop')!;
    const target = { namespace: 'shop', services: [{ service }] } as unknown as Target;
    const look = looking(given, sessionsInTheWay(observer(), target, machine, false));
    if (given.alive)
      await expect(look).rejects.toMatchObject({
        code: 'session.held',
        message: expect.stringContaining('ann@there (pid 7)'),
      });
    else expect(await look).toEqual({ sessions: ['s1'], living: [] });
  });

  it(`down ${given.alive ? 'finds it alive' : 'restores what it changed'}`, async () => {
    const search = () => findMarked(cluster.api, ['shop'], { sessionId: 's1' });
    const { marked } = await search();
    const look = liveHolder(observer(), machine, { sessionId: 's1', objects: marked }, search);
    const holder = await looking(given, look);
    if (given.alive) expect(holder).toMatchObject({ sessionId: 's1', identity: 'ann@there (pid 7)' });
    else expect(holder).toBeUndefined();
  });
});

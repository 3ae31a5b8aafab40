/** Who holds an operator, whatever happened to the holder: devloop refuses with the holder's name, or takes over. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Lease, Service } from '../../../src/cluster/api/objects.ts';
import { HOLDER_ANNOTATION, SESSION_LABEL } from '../../../src/cluster/names.ts';
import { findMarked } from '../../../src/cluster/takeover/find-marked.ts';
import { LEASE_SECONDS } from '../../../src/cluster/takeover/lease.ts';
import { startTimeOf } from '../../../src/machine/system.ts';
import type { Target } from '../../../src/operator/target.ts';
import { liveHolder, sessionsInTheWay } from '../../../src/session/context/holders.ts';
import { type LocalMachine, thisMachine } from '../../../src/session/context/local-machine.ts';
import { type FakeCluster, fakeCluster } from '../../support/fake-cluster.ts';
import { partly } from '../../support/partly.ts';
import { record, SOAK } from '../../support/repeat.ts';

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
/** The boot and the name are those of this machine, but the PID namespace is not. */
const otherContainer = (): Holding => ({
  ...here(),
  processStart: here().processStart.replace(/\/\d+\//, '/1/'),
});
const elsewhere = (): Holding => ({ ...otherBoot(), host: 'elsewhere' });

/** Its pid now belongs to a process that started at another time. */
const reused = (): Holding => ({ ...here(), processStart: here().processStart.replace(/\d+$/, '1') });

async function killed(): Promise<Holding> {
  const holding = here();
  owner.kill('SIGKILL');
  await once(owner, 'exit');
  return holding;
}

/** What has happened to the holder of a lock. */
interface Owner {
  name: string;
  holder: () => Holding | string | Promise<Holding>;
  /** Whether its Lease is renewed while devloop looks. */
  renewed?: boolean;
  alive: boolean;
}

const OWNERS: Owner[] = [
  { name: 'it runs on this machine', holder: here, alive: true },
  { name: 'it was killed here', holder: killed, alive: false },
  { name: 'it was killed here, and its pid is that of another process', holder: reused, alive: false },
  { name: 'it runs elsewhere', holder: elsewhere, renewed: true, alive: true },
  { name: 'it is gone elsewhere', holder: elsewhere, alive: false },
  { name: 'it runs on a machine of the same name', holder: otherBoot, renewed: true, alive: true },
  { name: 'it is gone on a machine of the same name', holder: otherBoot, alive: false },
  { name: 'it runs in another container here', holder: otherContainer, renewed: true, alive: true },
  { name: 'it is gone in another container', holder: otherContainer, alive: false },
  { name: 'its Lease names no holder, and is renewed', holder: () => '', renewed: true, alive: true },
  { name: 'its Lease names no holder, and stands still', holder: () => '', alive: false },
  { name: 'its Lease names nonsense, and stands still', holder: () => '{"pid":-1}', alive: false },
];

interface Case extends Owner {
  /** How far the holder's clock is ahead of this one's. */
  clockMs?: number;
  /** What else happens while devloop looks. */
  meanwhile?: () => void;
}

const step = (ms: number) => (): void => void vi.setSystemTime(Date.now() + ms);
const drop = (): void => cluster.drop('Lease', NAME, 'shop');

type Change = Pick<Case, 'clockMs' | 'meanwhile'>;
const AGREE = ['and the clocks agree', {}] as const;
const CLOCKS: (readonly [name: string, change: Change])[] = [
  ['its clock a day ahead', { clockMs: DAY_MS }],
  ['its clock a day behind', { clockMs: -DAY_MS }],
  ['and this clock is set a day ahead', { meanwhile: step(DAY_MS) }],
  ['and this clock is set a day back', { meanwhile: step(-DAY_MS) }],
];

/**
 * Each owner with each clock in `npm run soak`, and with one clock in `npm test`. A process of this machine does not have to be watched.
 */
const CASES: Case[] = OWNERS.flatMap((owner, index) => {
  const isWatched = ![here, killed, reused].includes(owner.holder as never);
  const clocks = isWatched ? CLOCKS : CLOCKS.slice(0, 2);
  const chosen = SOAK ? clocks : [clocks[index % clocks.length]!];
  return [AGREE, ...chosen].map(([clock, change]) => ({
    ...owner,
    ...change,
    name: `${owner.name}, ${clock}`,
  }));
});
const deleted = 'its Lease is deleted while it is watched';
CASES.push({ name: deleted, holder: elsewhere, meanwhile: drop, alive: false });

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

/** Looks for longer than a Lease is valid, without taking any time. */
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

it.each(CASES.map((given) => [given.name, given] as const))('where %s', async (_, given) => {
  const started = performance.now();
  put(given, await given.holder());
  vi.useFakeTimers();
  const observer = { api: cluster.api, emit: () => {}, signal: new AbortController().signal };
  const service = cluster.read<Service>('Service', 'hook', 'shop')!;
  const target = partly<Target>({ namespace: 'shop', services: [{ service }] });
  const search = () => findMarked(cluster.api, ['shop'], { sessionId: 's1' });
  const { marked } = await search();
  const [up, down] = await looking(
    given,
    Promise.allSettled([
      sessionsInTheWay(observer, target, machine, false),
      liveHolder(observer, machine, { sessionId: 's1', objects: marked }, search),
    ]),
  );
  const named = expect.stringContaining('ann@there (pid 7)');
  const [refused, found] = [
    { code: 'session.held', message: named },
    { sessionId: 's1', identity: named },
  ];
  if (given.alive)
    expect([up, down]).toMatchObject([
      { status: 'rejected', reason: refused },
      { status: 'fulfilled', value: found },
    ]);
  else
    expect([up, down]).toEqual([
      { status: 'fulfilled', value: { sessions: ['s1'], living: [], unready: [] } },
      { status: 'fulfilled', value: undefined },
    ]);
  vi.useRealTimers();
  record('locks, each met by `up` and by `down`', 1, started);
});

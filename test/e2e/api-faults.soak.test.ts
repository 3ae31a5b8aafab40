/** Faults of the API server at each call of `up` and `down`, and devloop killed around each write. Nothing stays broken. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type DevloopRun, startDevloop } from '../support/devloop.ts';
import { type Call, FAULTS, type Fault, type FaultProxy, faultProxy } from '../support/fault-proxy.ts';
import { type HollowOperator, sharedHollowOperator } from '../support/hollow-operator.ts';
import { askHook } from '../support/hook-operator.ts';
import { record, repeat, SOAK } from '../support/repeat.ts';
import { revocableLogin } from '../support/revocable-login.ts';
import { roundTrips } from '../support/round-trips.ts';

/** Of several calls with the same key, such as those of a poll, only the first ones are tried. */
const OCCURRENCES = 4;
/** A call that hangs takes up to half a minute. */
const HANG_MS = 180_000;

let operator: HollowOperator;
let proxy: FaultProxy;

beforeAll(async () => {
  operator = await sharedHollowOperator();
  proxy = await faultProxy(operator.cluster.kubeconfig);
});

afterAll(() => proxy?.[Symbol.asyncDispose]());

/** The calls go through the proxy, unless they restore what a fault left. */
function start(args: string[], KUBECONFIG = proxy.kubeconfig): DevloopRun {
  return startDevloop(args, { cwd: operator.directory, env: { KUBECONFIG } });
}

/** `up`, and Ctrl-C as soon as it serves. */
async function upAndLeave(): Promise<DevloopRun> {
  const up = start(operator.up);
  await up.waitFor('session.ready').then(
    () => up.signal('SIGINT'),
    () => undefined,
  );
  await up.exited;
  return up;
}

async function down(): Promise<DevloopRun> {
  const run = start(['down']);
  await run.exited;
  return run;
}

/** A dead session that holds everything. */
async function leaveDead(): Promise<void> {
  proxy.reset();
  await using up = start(operator.up);
  await up.waitFor('session.ready');
  up.signal('SIGKILL');
  await up.exited;
}

async function repair(): Promise<void> {
  proxy.reset();
  await using run = start(['down'], operator.cluster.kubeconfig);
  expect(await run.exited, run.log()).toBe(0);
  // At once, whatever an earlier `down` had restored.
  await Promise.all(['first', 'second'].map((name) => askHook(operator.cluster, name)));
  await operator.expectRestored();
}

/** The calls of a run without faults. */
async function callsOf(run: () => Promise<DevloopRun>): Promise<Call[]> {
  proxy.reset();
  await run();
  return proxy.calls.filter(({ occurrence }) => occurrence < OCCURRENCES);
}

/** How many faults and kills hit their call, since no two runs make quite the same calls. */
let met = 0;

function at(point: Call, fault: Fault): (call: Call) => Fault | undefined {
  return ({ key, occurrence }) => {
    if (key !== point.key || occurrence !== point.occurrence) return undefined;
    met++;
    return fault;
  };
}

/** Like `repeat`, but counts the rounds that hit their call. */
async function repeatAndCount(...[what, limits, once]: Parameters<typeof repeat>): Promise<void> {
  const started = performance.now();
  met = 0;
  await repeat(what, limits, once);
  record(`${what}: met its call`, met, started);
}

/** A command says that everything is restored only if that is true; otherwise it says in words why not. */
async function expectHonest(run: DevloopRun, done: number): Promise<void> {
  const code = await run.exited;
  expect(run.log()).not.toContain('This is a bug');
  if (code === done) return await operator.expectRestored();
  expect(run.events.at(-1), run.log()).toMatchObject({
    type: 'error',
    message: expect.stringMatching(/\S/),
    exitCode: code,
  });
  // 2: the API server says that an object that the user named does not exist.
  expect([2, 3, 4, 5, 6, 7]).toContain(code);
  await repair();
}

/** Every fault at every call, in a mixed order, so that the first few are of all kinds. */
function pairs<T>(points: T[]): (index: number) => { point: T; fault: Fault } {
  return (index) => {
    const turn = Math.floor(index / FAULTS.length);
    // Neighbours in the list are similar.
    const fault = FAULTS[(index * 5) % FAULTS.length]!;
    return { point: points[(index * 7 + turn * 3) % points.length]!, fault };
  };
}

/** The calls that a run made one after another, each of them answered late. */
async function inARow(run: () => Promise<DevloopRun>): Promise<string[]> {
  proxy.reset(() => 'late');
  await using ended = await run();
  expect([0, 130], ended.log()).toContain(await ended.exited);
  return roundTrips(proxy.calls);
}

/** `up`, until it begins the take-over. */
async function upUntilStarted(): Promise<DevloopRun> {
  const run = start(operator.up);
  await run.waitForAny(({ type }) => type === 'session.started');
  const before = [...proxy.calls];
  run.signal('SIGINT');
  await run.exited;
  proxy.calls.splice(0, Number.POSITIVE_INFINITY, ...before);
  return run;
}

const TRIES = 3;

it('down makes at most ten round trips in a row, and a dead session costs up six', async () => {
  let [plain, recovering, ofDown]: string[][] = [];
  // On a busy machine, calls that are made at the same moment can seem to be made one after another, but never the other way round.
  const fewer = (now: string[], before: string[] = now): string[] =>
    now.length < before.length ? now : before;
  for (let tries = 0; tries < TRIES; tries++) {
    plain = fewer(await inARow(upUntilStarted), plain);
    await leaveDead();
    recovering = fewer(await inARow(upUntilStarted), recovering);
    await leaveDead();
    ofDown = fewer(await inARow(down), ofDown);
    if (recovering.length - plain.length <= 6 && ofDown.length <= 10) break;
  }
  await repair();
  console.log(`up ${plain!.length}, after a dead session ${recovering!.length}, down ${ofDown!.length}`);
  expect(recovering!.length - plain!.length, recovering!.join('\n')).toBeLessThanOrEqual(6);
  expect(ofDown!.length, ofDown!.join('\n')).toBeLessThanOrEqual(10);
});

it('up survives a fault of the API server, or says which, and leaves nothing behind', async () => {
  const pair = pairs(await callsOf(upAndLeave));
  await repeatAndCount('API fault in up', { soak: 280, quick: 3, limitMs: HANG_MS }, async (index) => {
    const { point, fault } = pair(index);
    proxy.reset(at(point, fault));
    await using up = await upAndLeave();
    await expectHonest(up, 130).catch(rethrow(`${fault} at ${point.key}, ${point.occurrence}`));
  });
});

it('down survives a fault of the API server, or says which, and can be run again', async () => {
  await leaveDead();
  const pair = pairs(await callsOf(down));
  await repeatAndCount('API fault in down', { soak: 140, quick: 2, limitMs: HANG_MS }, async (index) => {
    const { point, fault } = pair(index + 2);
    await leaveDead();
    proxy.reset(at(point, fault));
    await using run = await down();
    await expectHonest(run, 0).catch(rethrow(`${fault} at ${point.key}, ${point.occurrence}`));
  });
});

it('an API server that is away for seconds while the session ends is waited for', async () => {
  await repeat('API server away while up ends', { soak: 20 }, async (index) => {
    proxy.reset();
    await using up = start(operator.up);
    await up.waitFor('session.ready');
    let writes = 0;
    let backAt: number | undefined;
    // From one of the first writes on, in a different way each time.
    const how = (['503', 'reset before', '500', 'reset after'] as const)[index % 4]!;
    proxy.reset(({ isWrite }) => {
      if (isWrite && writes++ === index % 5) backAt ??= performance.now() + 3_000;
      return backAt !== undefined && performance.now() < backAt ? how : undefined;
    });
    up.signal('SIGINT');
    expect(await up.exited, up.log()).toBe(130);
    expect(up.events.filter(({ type }) => type === 'error')).toEqual([]);
    await operator.expectRestored();
  });
});

it('an API server that stays away is waited for until a second Ctrl-C, and reviews are answered until then', async () => {
  proxy.reset();
  await using up = start(operator.up);
  await up.waitFor('session.ready');
  proxy.reset(() => 'reset before');
  up.signal('SIGINT');
  await up.waitFor('warning', ({ code }) => code === 'restore.delayed');
  await up.waitFor('waiting', ({ for: what }) => what === 'the API server');
  await expect(askHook(operator.cluster, 'first')).rejects.toThrow('local on 9444 says no');
  up.signal('SIGINT');
  expect(await up.exited).toBe(130);
  await repair();
});

// devloop runs a credential plugin again half a minute after its credentials were rejected.
it.runIf(SOAK)(
  'a login that is revoked while up runs is waited for at its end, and its plugin is not run at each call',
  async () => {
    await using login = await revocableLogin(operator.cluster);
    await using up = start(operator.up, login.kubeconfig);
    await up.waitFor('session.ready');
    await login.revoke();
    up.signal('SIGINT');
    await up.waitFor('warning', ({ code }) => code === 'restore.delayed');
    await login.renew();
    expect(await up.exited, up.log()).toBe(130);
    await operator.expectRestored();
    expect(await login.runs()).toBeLessThan(20);
  },
);

/** Runs a command that is killed at one of its writes, if it gets that far. */
async function killAt(args: string[], point: Call, when: 'kill before' | 'kill after'): Promise<void> {
  await using run = start(args);
  proxy.reset(at(point, when), () => run.signal('SIGKILL'));
  if (args[0] === 'up')
    await run.waitFor('session.ready').then(
      () => run.signal('SIGINT'),
      () => undefined,
    );
  await run.exited;
}

const KILLS = ['kill before', 'kill after'] as const;

/** Before and after each write. */
async function killsOf(
  run: () => Promise<DevloopRun>,
): Promise<{ point: Call; when: (typeof KILLS)[number] }[]> {
  const writes = (await callsOf(run)).filter(({ isWrite }) => isWrite);
  return writes.flatMap((point) => KILLS.map((when) => ({ point, when })));
}

it('devloop can be killed around every write, and the down after that as well', async () => {
  const ups = await killsOf(upAndLeave);
  await leaveDead();
  const downs = await killsOf(down);
  const ofUp = { soak: ups.length, quick: 0, limitMs: HANG_MS };
  await repeatAndCount('kill -9 around a write of up', ofUp, async (index) => {
    const { point, when } = ups[(index * 11) % ups.length]!;
    await killAt(operator.up, point, when);
    await repair().catch(rethrow(`${when} ${point.key}`));
  });
  const ofDown = { soak: downs.length, quick: 0, limitMs: HANG_MS };
  await repeatAndCount('kill -9 around a write of down', ofDown, async (index) => {
    const { point, when } = downs[(index * 5) % downs.length]!;
    await leaveDead();
    await killAt(['down'], point, when);
    await repair().catch(rethrow(`${when} ${point.key}`));
  });
  await repeatAndCount('kill -9 in up, and again in down', { soak: 200, limitMs: HANG_MS }, async (index) => {
    const first = ups[(index * 7) % ups.length]!;
    const second = downs[(index * 3 + 1) % downs.length]!;
    await killAt(operator.up, first.point, first.when);
    await killAt(['down'], second.point, second.when);
    await repair().catch(rethrow(`${first.when} ${first.point.key}, ${second.when} ${second.point.key}`));
  });
});

function rethrow(where: string): (cause: Error) => never {
  return (cause) => {
    throw new Error(`${where}: ${cause.message}`, { cause });
  };
}

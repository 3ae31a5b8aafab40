/** `up` and `down` of one operator at the same time, from one machine and from two. Whichever wins, nothing stays broken. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type DevloopRun, runDevloop, startDevloop } from '../support/devloop.ts';
import { type HollowOperator, sharedHollowOperator } from '../support/hollow-operator.ts';
import { askHook } from '../support/hook-operator.ts';
import { repeat } from '../support/repeat.ts';
import { createNetwork, type Network } from '../support/sshd/network.ts';

/** Longer than a whole `up` takes on a hollow node. */
const UP_MS = 3_000;
/** The number of rounds does not divide it, so each round hits another moment. */
const STEP_MS = 370;

let operator: HollowOperator;
let network: Network;
let elsewhere: string;

beforeAll(async () => {
  operator = await sharedHollowOperator();
  network = await createNetwork();
  elsewhere = await mkdtemp(join(tmpdir(), 'devloop-elsewhere-'));
});

afterAll(async () => {
  await network?.[Symbol.asyncDispose]();
  await rm(elsewhere, { recursive: true, force: true });
});

function here(args: string[]): DevloopRun {
  return startDevloop(args, { cwd: operator.directory, env: { KUBECONFIG: operator.cluster.kubeconfig } });
}

/** From another machine: it sees neither the process of the session nor its files. */
function there(args: string[]): DevloopRun {
  const own = args.map((word) => (word === operator.cluster.hostIp ? network.address : word));
  const env = { KUBECONFIG: operator.cluster.kubeconfig, TMPDIR: elsewhere, XDG_STATE_HOME: elsewhere };
  return startDevloop(own, {
    cwd: operator.directory,
    env,
    through: [...network.enter, 'unshare', '--uts', 'sh', '-c', 'hostname elsewhere; exec "$@"', 'sh'],
  });
}

/** Each round at another moment in the life of the session. */
const momentOf = (index: number): number => (index * STEP_MS) % UP_MS;

/** It ended with one of these codes, and with an error in words if the code is not the first one. */
async function expectEnded(run: DevloopRun, codes: number[]): Promise<void> {
  const code = await run.exited;
  expect(codes, run.log()).toContain(code);
  expect(run.log()).not.toContain('This is a bug');
  if (code === codes[0]) return;
  expect(run.events.at(-1), run.log()).toMatchObject({ type: 'error', message: expect.stringMatching(/\S/) });
}

/** As soon as it serves, or at once if it has ended before. */
async function leave(up: DevloopRun): Promise<void> {
  await up.waitFor('session.ready').then(
    () => up.signal('SIGINT'),
    () => undefined,
  );
}

/** One more `down` finds nothing that it cannot restore, and reviews are answered. */
async function expectWhole(): Promise<void> {
  const env = { KUBECONFIG: operator.cluster.kubeconfig };
  const { code, log } = await runDevloop(['down'], { cwd: tmpdir(), env });
  expect(code, log).toBe(0);
  await Promise.all(['first', 'second'].map((name) => askHook(operator.cluster, name)));
  await operator.expectRestored();
}

/** `down` at one moment of an `up`. If the `up` still serves after that, it is ended. */
async function downDuringUp(
  index: number,
  startDown: () => DevloopRun,
  codes: { down: number[]; up: number[] },
): Promise<void> {
  await using up = here(operator.up);
  await sleep(momentOf(index));
  await using down = startDown();
  await expectEnded(down, codes.down);
  await leave(up);
  await expectEnded(up, codes.up);
  await expectWhole();
}

it('a down of the same machine, at any moment of an up, ends it, and both say so', async () => {
  await repeat('down during up, on one machine', { soak: 30 }, (index) =>
    downDuringUp(index, () => here(['down']), { down: [0, 4], up: [130] }),
  );
});

it('a down of another machine, at any moment of an up, does not disturb it', async () => {
  // 0: the session had not changed anything yet.
  await repeat('down during up, from another machine', { soak: 30 }, (index) =>
    downDuringUp(index, () => there(['down']), { down: [0, 4], up: [130] }),
  );
});

it('a down --take-over of another machine, at any moment of an up, ends the session or comes too early', async () => {
  await repeat('down --take-over during up', { soak: 30 }, (index) =>
    downDuringUp(index, () => there(['down', '--take-over']), { down: [0], up: [130, 4] }),
  );
});

it('an up while a down restores a dead session: whichever of them restores it, it is restored', async () => {
  await repeat('up during down of a dead session', { soak: 30 }, async (index) => {
    await using dead = here(operator.up);
    await dead.waitFor('session.ready');
    dead.signal('SIGKILL');
    await dead.exited;
    // Not from another machine, since that one would have to wait until the dead session's Lease expires.
    await using down = here(['down']);
    await sleep(momentOf(index) / 2);
    await using up = here(operator.up);
    await expectEnded(down, [0, 4]);
    await leave(up);
    await expectEnded(up, [130, 4]);
    await expectWhole();
  });
});

import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestCluster } from '../cluster/cluster.ts';
import { type DevloopRun, startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { type SavedServer, savedServer } from '../support/hook-server.ts';
import { record, SOAK } from '../support/repeat.ts';
import { createReviewer, load, type Reviewer } from '../support/reviews.ts';
import { type Checkout, checkoutSample, NAMESPACE } from '../support/sample-operator.ts';
import { sharedSample } from '../support/shared-sample.ts';
import { snapshot } from '../support/snapshot.ts';

const REVIEWS = SOAK ? 20_000 : 200;
const RESTARTS = SOAK ? 200 : 3;
const PER_SECOND = 50;
const PORT = 9443;
/** No other process on this machine sleeps for this time. */
const GRANDCHILD_SECONDS = '98765';

type Edit = (source: string) => string;

const inFront =
  (code: string): Edit =>
  (source) =>
    `${source.replace(/^import/m, `${code}\nimport`)}`;
const afterSigterm =
  (what: string): Edit =>
  (source) =>
    source.replace("AFTER_SIGTERM = 'exit'", `AFTER_SIGTERM = '${what}'`);

const SLOW = inFront('await new Promise((resolve) => setTimeout(resolve, 1500));');
const CRASHES = inFront('process.exit(3);');
const NEVER_LISTENS = inFront('await new Promise((resolve) => setTimeout(resolve, 1e8));');
const LEAVES_A_GRANDCHILD = inFront(
  `import { spawn } from 'node:child_process';
spawn('sleep', ['${GRANDCHILD_SECONDS}'], { stdio: 'ignore' });`,
);

let cluster: TestCluster;
let checkout: Checkout;
let server: SavedServer;
let reviewer: Reviewer & AsyncDisposable;

beforeAll(async () => {
  cluster = await sharedSample();
  checkout = await checkoutSample();
  server = savedServer(checkout.directory, String(PORT));
  reviewer = await createReviewer(cluster.kubeconfig);
});

afterAll(async () => {
  await reviewer?.[Symbol.asyncDispose]();
  await checkout?.[Symbol.asyncDispose]();
});

let savedAt = 0;
let interval = 0;
const VARIED_MS = 1_000;

/**
 * Saves a little later if it would save at the same moment as the last time, because devloop would then think that the controller had
 * written the file.
 */
async function save(edit?: Edit): Promise<string> {
  const since = performance.now() - savedAt;
  const next = Math.abs(since - interval) < VARIED_MS ? interval + VARIED_MS : since;
  await sleep(next - since);
  savedAt = performance.now();
  interval = next;
  return await server.save(edit);
}

/** Saves, and waits until kube-apiserver gets an answer from the saved code. */
async function replaced(edit?: Edit): Promise<void> {
  const text = await save(edit);
  await eventually(async () => expect(await reviewer.ask()).toContain(text), 60_000);
}

/** First a program that does not answer, then one that does. */
async function mended(run: DevloopRun, edit: Edit): Promise<void> {
  await save(edit);
  await run.waitFor('controller.exited', ({ expected }) => !expected);
  await sleep(500);
  await replaced();
}

/** Another program takes the port at the moment when the old controller has ended. */
async function portTaken(run: DevloopRun): Promise<void> {
  await save(SLOW);
  await using other = createServer((socket) => socket.destroy());
  for (let isTaken = false; !isTaken; ) {
    other.listen(PORT, '127.0.0.1');
    isTaken = await once(other, 'listening').then(
      () => true,
      () => sleep(20, false),
    );
  }
  await run.waitFor('warning', ({ message }) => message.includes(String(PORT)));
  await sleep(500);
  await other[Symbol.asyncDispose]();
  await replaced();
}

/** How often each of them occurs in a round, and whether reviews may be refused meanwhile because nothing answers in time. */
const KINDS: {
  what: string;
  times: number;
  mayRefuse?: true;
  restart: (run: DevloopRun) => Promise<void>;
}[] = [
  { what: 'fast', times: 8, restart: () => replaced() },
  { what: 'slow to listen', times: 4, restart: () => replaced(SLOW) },
  { what: 'leaves a grandchild', times: 2, restart: () => replaced(LEAVES_A_GRANDCHILD) },
  {
    what: 'gives up its port at SIGTERM but does not end',
    times: 1,
    restart: () => replaced(afterSigterm('silent')),
  },
  {
    what: 'ignores SIGTERM and goes on answering',
    times: 1,
    restart: () => replaced(afterSigterm('answer')),
  },
  {
    what: 'never listens, until it is saved again',
    times: 1,
    async restart() {
      await save(NEVER_LISTENS);
      await sleep(2000);
      await replaced();
    },
  },
  {
    what: 'crashes at its start, until it is saved again',
    times: 2,
    mayRefuse: true,
    restart: (run) => mended(run, CRASHES),
  },
  { what: 'finds its port taken, until it is saved again', times: 1, mayRefuse: true, restart: portTaken },
];
/** In `npm test`, one of each kind that takes a second or two. */
const QUICK = ['fast', 'slow to listen', 'crashes at its start, until it is saved again'];
const ROUND = SOAK
  ? KINDS.flatMap((kind) => Array.from({ length: kind.times }, () => kind))
  : KINDS.filter(({ what }) => QUICK.includes(what));

it(`none of ${REVIEWS} reviews is lost in ${RESTARTS} restarts`, { timeout: 3_000_000 }, async () => {
  const before = await snapshot(cluster, NAMESPACE);
  await server.save();
  const options = { cwd: checkout.directory, env: { KUBECONFIG: cluster.kubeconfig } };
  await using run = startDevloop(['up', ...server.command], options);
  await run.waitFor('session.ready', undefined, 300_000);
  const started = performance.now();
  const counts = new Map(KINDS.map((kind) => [kind, { restarts: 0, refused: 0 }]));
  let current = KINDS[0]!;
  const restarting = (async () => {
    for (
      let count = 0;
      count < RESTARTS || performance.now() - started < (REVIEWS / PER_SECOND) * 1000;
      count++
    ) {
      current = ROUND[(count * 7) % ROUND.length]!;
      await sleep(100);
      await current.restart(run);
      counts.get(current)!.restarts += 1;
      // Answers that are still on their way belong to this restart.
      if (current.mayRefuse) await sleep(500);
    }
  })();
  const isGood = (answer: string): boolean => {
    if (answer.includes('answered here')) return true;
    if (!current.mayRefuse || !answer.includes('devloop: the controller')) return false;
    counts.get(current)!.refused += 1;
    return true;
  };
  const { asked, failures, slowestMs } = await load(reviewer, PER_SECOND, restarting, isGood);
  await restarting;
  expect(failures).toEqual([]);
  expect(asked).toBeGreaterThanOrEqual(REVIEWS);
  record(`reviews over restarts, none lost; the slowest took ${Math.round(slowestMs)} ms`, asked, started);
  for (const [{ what }, { restarts, refused }] of counts)
    record(
      `restarts: ${what}${refused > 0 ? `; ${refused} reviews refused with the cause` : ''}`,
      restarts,
      started,
    );
  run.signal('SIGINT');
  expect(await run.exited, run.log()).toBe(130);
  await eventually(async () => expect(await snapshot(cluster, NAMESPACE)).toEqual(before));
  expect(await grandchildren()).toEqual([]);
});

/** The ids of those that are still running. */
async function grandchildren(): Promise<string[]> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const commands = await Promise.all(
    ids.map(async (id) => ({ id, command: await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '') })),
  );
  return commands.flatMap(({ id, command }) => (command === `sleep\0${GRANDCHILD_SECONDS}\0` ? [id] : []));
}

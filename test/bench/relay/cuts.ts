import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestCluster } from '../../support/cluster/cluster.ts';
import { type Cutter, startCutter } from '../../support/relay/cutter.ts';
import type { Load } from './load.ts';
import { type Ours, startOurs } from './subjects.ts';

const CUTS = Number(process.env.BENCH_CUTS ?? 50);
const CLIENTS = 16;
const NEW_CLIENTS = 4;
const API_PORT = 6443;
/** Longest time between a port-forward that stands again and its cut, in ms. */
const MOST_BETWEEN = 400;
const REDIAL_LIMIT_MS = 20_000;
/** One round of load is no longer than this; another begins while cuts are left. */
const LOAD_MS = 5_000;

/** Connections to the API server are cut all the time under clients that ask without a pause; nothing may be lost. */
export async function cutFigures(cluster: TestCluster, load: Load): Promise<void> {
  await using cutter = await startCutter(API_PORT, cluster.nodeIp);
  await using kubeconfig = await leadingThrough(cutter, cluster.kubeconfig);
  await using ours = await startOurs(cluster, load, kubeconfig.file);
  const cuts = cutAll(cutter, ours);
  const [kept, fresh] = await Promise.all([
    whileCut(cuts, () => load.requests('keep', ours, CLIENTS, LOAD_MS)),
    whileCut(cuts, () => load.requests('new', ours, NEW_CLIENTS, LOAD_MS)),
  ]);
  const pauses = await cuts;
  for (const [name, { asked, failed, slowestMs }] of [
    [`${CLIENTS} clients on kept connections`, kept],
    [`${NEW_CLIENTS} clients with a new connection each time`, fresh],
  ] as const) {
    const reached = failed === 0 && asked > CUTS;
    console.log(
      `${reached ? 'reached' : 'MISSED '}  relay: ${failed} failed of ${asked} requests of ${name} over ${pauses.length} cuts; the slowest took ${slowestMs.toFixed(0)} ms`,
    );
  }
  console.log(
    `         the port-forward was dialled again within ${Math.max(...pauses).toFixed(0)} ms each time`,
  );
}

/** Each cut waits for a port-forward of its own. Resolves with the times until it was there, in ms. */
async function cutAll(cutter: Cutter, ours: Ours): Promise<number[]> {
  const pauses: number[] = [];
  for (let cut = 0; cut < CUTS; cut++) {
    await sleep(Math.random() * MOST_BETWEEN);
    const before = ours.dialled;
    const started = performance.now();
    cutter.cut(cut % 2 === 0 ? 'reset' : 'end');
    while (ours.dialled === before) {
      if (performance.now() - started > REDIAL_LIMIT_MS)
        throw new Error(`not dialled again after cut ${cut}`);
      await sleep(2);
    }
    pauses.push(performance.now() - started);
  }
  return pauses;
}

type Lost = { asked: number; failed: number; slowestMs: number };

async function whileCut(cuts: Promise<unknown>, round: () => Promise<Lost>): Promise<Lost> {
  const over = cuts.then(() => true);
  const total: Lost = { asked: 0, failed: 0, slowestMs: 0 };
  while (!(await Promise.race([over, false]))) {
    const { asked, failed, slowestMs } = await round();
    total.asked += asked;
    total.failed += failed;
    total.slowestMs = Math.max(total.slowestMs, slowestMs);
  }
  return total;
}

/** The cutter's address instead of the API server's; the certificate names both. */
async function leadingThrough(
  cutter: Cutter,
  kubeconfig: string,
): Promise<{ file: string } & AsyncDisposable> {
  const dir = await mkdtemp(join(tmpdir(), 'devloop-relay-bench-'));
  const file = join(dir, 'kubeconfig');
  const text = await readFile(kubeconfig, 'utf8');
  const moved = text.replace(/https:\/\/[^"\s]+/, `https://127.0.0.1:${cutter.port}`);
  await writeFile(file, moved, { mode: 0o600 });
  return { file, [Symbol.asyncDispose]: () => rm(dir, { recursive: true }) };
}

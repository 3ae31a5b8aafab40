import { setTimeout as sleep } from 'node:timers/promises';
import type { TestCluster } from '../../cluster/cluster.ts';
import { type Cutter, startCutter } from '../../support/relay/cutter.ts';
import { note, report } from '../figures.ts';
import type { Load } from '../tunnel/load.ts';
import { kubeconfigFor } from './kubeconfig.ts';
import { type Ours, startOurs } from './subjects.ts';

const CUTS = Number(process.env.BENCH_CUTS ?? 50);
const CLIENTS = 16;
const NEW_CLIENTS = 4;
const API_PORT = 6443;
/** The longest time until a port-forward is cut after it works again, in ms. */
const MOST_BETWEEN = 400;
const REDIAL_LIMIT_MS = 20_000;
/** No round of load is longer than this; another round begins while there are cuts left to make. */
const LOAD_MS = 5_000;

/** Connections to the API server are cut again and again, while clients send requests without a pause. No request may be lost. */
export async function cutFigures(cluster: TestCluster, load: Load): Promise<void> {
  await using cutter = await startCutter(API_PORT, cluster.nodeIp);
  await using kubeconfig = await kubeconfigFor(cutter.port, cluster.kubeconfig);
  await using ours = await startOurs(cluster, load, { kubeconfig: kubeconfig.file });
  const { enter, address, ports } = ours;
  const cuts = cutAll(cutter, ours);
  const [kept, fresh] = await Promise.all([
    whileCut(cuts, () => load.requests('keep', address, ports[0], CLIENTS, LOAD_MS, enter)),
    whileCut(cuts, () => load.requests('new', address, ports[0], NEW_CLIENTS, LOAD_MS, enter)),
  ]);
  const pauses = await cuts;
  for (const [name, { asked, failed, slowestMs }] of [
    [`${CLIENTS} kept connections`, kept],
    [`${NEW_CLIENTS} clients, each request on a new connection`, fresh],
  ] as const) {
    if (asked <= CUTS) throw new Error(`only ${asked} requests of ${name} in ${CUTS} cuts`);
    report({
      name: `relay: failed requests over ${CUTS} cuts, ${name}`,
      ours: failed,
      unit: '',
      goal: { most: 0 },
    });
    note(`${asked} requests; the slowest took ${slowestMs.toFixed(0)} ms`);
  }
  note(`the connection was dialled again within ${Math.max(...pauses).toFixed(0)} ms each time`);
}

/** Each cut waits for a port-forward of its own. Resolves with the times until the next one was open, in ms. */
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
    const { asked, failed, slowestMs } = await round().catch(noneSucceeded);
    total.asked += asked;
    total.failed += failed;
    total.slowestMs = Math.max(total.slowestMs, slowestMs);
  }
  return total;
}

/** The load fails if no request of a round succeeded. */
function noneSucceeded(error: Error): Lost {
  console.error(error.message);
  return { asked: CLIENTS, failed: CLIENTS, slowestMs: 0 };
}

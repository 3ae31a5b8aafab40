import type { TestCluster } from '../../cluster/cluster.ts';
import { median, print } from '../measure.ts';
import { shuffled } from '../tunnel/figures.ts';
import type { Load, Measured } from '../tunnel/load.ts';
import { KUBECTL, KUBECTL_AGAIN, OURS, type Subject, startKubectl, startOurs } from './subjects.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const LOAD_MS = Number(process.env.BENCH_LOAD_MS ?? 1_000);

const LOADS = (['keep', 'new'] as const).flatMap((kind) =>
  [1, 16, 64].map((concurrency) => ({ kind, concurrency, name: `${kind}-${concurrency}` })),
);

/** What each subject took, by load, round after round. */
type Taken = Map<string, Map<string, Measured[]>>;

/** The same requests through the relay to this machine, and through `kubectl port-forward` from this machine into a Pod. */
export async function pathFigures(cluster: TestCluster, load: Load): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const subjects: Subject[] = [stack.use(await startOurs(cluster, load))];
  for (const name of [KUBECTL, KUBECTL_AGAIN]) subjects.push(stack.use(await startKubectl(name, cluster)));
  const taken: Taken = new Map(
    subjects.map(({ name }) => [name, new Map(LOADS.map((one) => [one.name, []]))]),
  );
  // The first round only warms up.
  for (let round = -1; round < ROUNDS; round++) {
    for (const { name: subject, enter, address, ports } of shuffled(subjects)) {
      for (const { kind, concurrency, name } of LOADS) {
        const measured = await load.requests(kind, address, ports[0], concurrency, LOAD_MS, enter);
        if (round >= 0) taken.get(subject)!.get(name)!.push(measured);
      }
    }
  }
  show(taken);
}

function show(taken: Taken): void {
  const of = (subject: string, name: string, what: keyof Measured): number =>
    median(
      taken
        .get(subject)!
        .get(name)!
        .map((measured) => measured[what]),
    );
  console.log(`         p50 ms, p99 ms, requests a second; ratio of p50; medians of ${ROUNDS} rounds`);
  for (const { name } of LOADS) {
    const cells = [OURS, KUBECTL].map((subject) =>
      (['p50Ms', 'p99Ms', 'perSecond'] as const)
        .map((what) => of(subject, name, what).toPrecision(4))
        .join(' / '),
    );
    const ratio = of(OURS, name, 'p50Ms') / of(KUBECTL, name, 'p50Ms');
    console.log(
      `         ${name.padEnd(8)} ${OURS} ${cells[0]!.padEnd(24)} ${KUBECTL} ${cells[1]!.padEnd(24)} ${ratio.toFixed(2)} x`,
    );
  }
  for (const { name } of LOADS) {
    const ratio = of(KUBECTL_AGAIN, name, 'p50Ms') / of(KUBECTL, name, 'p50Ms');
    console.log(
      `control  ${name.padEnd(46)} ${ratio.toFixed(2)} x: the same subject twice${ratio < 0.87 || ratio > 1.15 ? ', TOO FAR APART' : ''}`,
    );
    const failed = [OURS, KUBECTL].map((subject) =>
      taken
        .get(subject)!
        .get(name)!
        .reduce((sum, measured) => sum + measured.failed, 0),
    );
    if (failed.some(Boolean))
      console.log(
        `${failed[0] ? 'MISSED ' : '       '}  ${name}: ${failed[0]} failed requests, ${KUBECTL} ${failed[1]}`,
      );
  }
  for (const [what, name] of [
    ['relay: new TLS connection, p50', 'new-1'],
    ['relay: kept connection, p50', 'keep-1'],
  ] as const) {
    const [ours, anchor] = [of(OURS, name, 'p50Ms'), of(KUBECTL, name, 'p50Ms')];
    print({ name: what, ours, anchor, anchorName: KUBECTL, goal: 0.7, unit: 'x' });
  }
}

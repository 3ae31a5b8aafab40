import type { TestCluster } from '../../cluster/cluster.ts';
import { control, note, report } from '../figures.ts';
import { median, ROUNDS, shuffled } from '../measure.ts';
import type { Load, Measured } from '../tunnel/load.ts';
import { KUBECTL, KUBECTL_AGAIN, OURS, type Subject, startKubectl, startOurs } from './subjects.ts';

const LOAD_MS = Number(process.env.BENCH_LOAD_MS ?? 1_000);

const LOADS = (['keep', 'new'] as const).flatMap((kind) =>
  [1, 16, 64].map((concurrency) => ({ kind, concurrency, name: `${kind}-${concurrency}` })),
);

/** What each subject took, by load and by round. */
type Taken = Map<string, Map<string, Measured[]>>;

/** The same requests through the relay to this machine, and through `kubectl port-forward` from this machine into a Pod. */
export async function pathFigures(cluster: TestCluster, load: Load): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const subjects: Subject[] = [stack.use(await startOurs(cluster, load))];
  for (const name of [KUBECTL, KUBECTL_AGAIN]) subjects.push(stack.use(await startKubectl(name, cluster)));
  const taken: Taken = new Map(
    subjects.map(({ name }) => [name, new Map(LOADS.map((one) => [one.name, []]))]),
  );
  // The first round is only a warm-up.
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
  const all = (subject: string, name: string, what: keyof Measured): number[] =>
    taken
      .get(subject)!
      .get(name)!
      .map((measured) => measured[what]);
  const of = (subject: string, name: string, what: keyof Measured): number =>
    median(all(subject, name, what));
  note(`p50 ms / p99 ms / requests a second; medians of ${ROUNDS} rounds`);
  for (const { name } of LOADS) {
    for (const subject of [OURS, KUBECTL]) {
      const cells = (['p50Ms', 'p99Ms', 'perSecond'] as const).map((what) => of(subject, name, what));
      note(`${name}, ${subject}: ${cells.map((cell) => cell.toPrecision(4)).join(' / ')}`);
    }
    control(name, of(KUBECTL_AGAIN, name, 'p50Ms') / of(KUBECTL, name, 'p50Ms'));
  }
  const failed = LOADS.flatMap(({ name }) => all(OURS, name, 'failed')).reduce((sum, one) => sum + one);
  report({ name: 'relay: failed requests', ours: failed, unit: '', goal: { most: 0 } });
  for (const [what, name] of [
    ['new TLS connection', 'new-1'],
    ['kept connection', 'keep-1'],
  ] as const)
    report({
      name: `relay: ${what}, p50`,
      ours: of(OURS, name, 'p50Ms'),
      unit: 'ms',
      anchor: { name: KUBECTL, value: of(KUBECTL, name, 'p50Ms') },
      goal: { most: 0.7 },
    });
}

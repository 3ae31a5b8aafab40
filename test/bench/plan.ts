import { startCluster } from '../cluster/cluster.ts';
import { startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { application, checkoutSample, deploySample } from '../support/sample-operator.ts';
import { note, report } from './figures.ts';
import { createByHand } from './loop/by-hand.ts';
import { editIn } from './loop/sample.ts';
import { median, ROUNDS, Rounds, type Taken } from './measure.ts';

/** `plan` of an edited checkout, against a plain build and start of the same. Both sides take turns. */
export async function planFigures(): Promise<void> {
  await using cluster = await startCluster({ log: (line) => console.error(line) });
  await deploySample(cluster);
  await using checkout = await checkoutSample();
  const { directory } = checkout;
  const input = application('web', 'example.com/shop:1');
  await eventually(() => cluster.kubectl(['apply', '-f', '-'], { input }));
  await eventually(() => cluster.kubectl(['get', 'deployment', 'web']));
  const env = { KUBECONFIG: cluster.kubeconfig, CGO_ENABLED: '0' };
  await using byHand = await createByHand({ env: { ...process.env, ...env } });
  const sides = [() => planned(directory, env), () => byHand.buildAndStart()];
  const rounds = new Rounds();
  for (let round = -1; round < ROUNDS; round++) {
    const taken: Taken = {};
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) Object.assign(taken, await side());
    if (round >= 0) rounds.add(taken);
  }
  const build = median(rounds.all('build').map((ms, round) => ms + rounds.all('start')[round]!));
  const parts = ['found', 'built', 'started'].map((what) => `${what} ${Math.round(rounds.median(what))}`);
  note(`plan, milliseconds after its start: ${parts.join(', ')}, ended ${Math.round(rounds.median('plan'))}`);
  report({
    name: 'plan of an edited checkout',
    ours: rounds.median('plan'),
    unit: 'ms',
    anchor: { name: 'go build + manager start', value: build },
    goal: { most: 1.5 },
  });
}

async function planned(cwd: string, env: Record<string, string>): Promise<Taken> {
  await editIn(cwd);
  const started = performance.now();
  const since = (): number => performance.now() - started;
  await using run = startDevloop(['plan'], { cwd, env });
  await run.waitFor('build.started');
  const found = since();
  await run.waitFor('build.done', undefined, 300_000);
  const built = since();
  await run.waitFor('controller.ready');
  const ready = since();
  const code = await run.exited;
  if (code !== 0) throw new Error(`devloop plan ended with ${code}:\n${run.log()}`);
  return { found, built, started: ready, plan: since() };
}

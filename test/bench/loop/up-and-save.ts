import { NAMESPACE } from '../../support/sample-operator.ts';
import { note, report } from '../figures.ts';
import { median, ROUNDS, Rounds, type Taken } from '../measure.ts';
import { atRest } from './at-rest.ts';
import { createByHand } from './by-hand.ts';
import { createInCluster } from './in-cluster.ts';
import { edit, firstAnswer, type Loop, startUp, stop } from './sample.ts';

/**
 * `up`, and the time from a saved change until its code answers a review of the cluster, against what people do without devloop. Both sides
 * take turns, and the one that begins changes with each round.
 */
export async function upAndSaveFigures(loop: Loop): Promise<void> {
  await using byHand = await createByHand(loop);
  await using inCluster = await createInCluster(loop);
  const sides = [
    () => withDevloop(loop),
    async () => ({ ...(await byHand.buildAndStart()), ...(await inCluster.rollOut()) }),
  ];
  const rounds = new Rounds();
  for (let round = -1; round < ROUNDS; round++) {
    const taken: Taken = {};
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) Object.assign(taken, await side());
    if (round >= 0) rounds.add(taken);
  }
  show(loop.name, rounds);
}

async function withDevloop(loop: Loop): Promise<Taken> {
  await atRest(loop.cluster, NAMESPACE);
  const started = performance.now();
  const starting = startUp(loop);
  const up = await firstAnswer(loop.reviewer, loop.text, started);
  await using run = await starting;
  const ready = performance.now() - started;
  const before = run.events.length;
  const text = await edit(loop);
  const saved = performance.now();
  await run.waitFor('build.done', (event) => run.events.indexOf(event) >= before);
  const save = await firstAnswer(loop.reviewer, text, saved);
  await run.waitFor('controller.replaced');
  await stop(run);
  return { up, ready, save };
}

function show(cluster: string, rounds: Rounds): void {
  const [up, save, image, restart] = ['up', 'save', 'image', 'restart'].map((what) => rounds.median(what));
  const build = median(rounds.all('build').map((ms, round) => ms + rounds.all('start')[round]!));
  const figure = (name: string, ours: number, anchor: { name: string; value: number }, most: number): void =>
    report({ name: `${name} (${cluster})`, ours, unit: 'ms', anchor, goal: { most } });
  figure('save to new answer', save!, { name: 'image build, load, rollout', value: image! }, 0.4);
  figure('save to new answer', save!, { name: 'go build + manager start', value: build }, 0.85);
  figure('up to first answer', up!, { name: 'rollout restart', value: restart! }, 1);
  for (const what of ['up', 'ready', 'save', 'image', 'build', 'start', 'restart'])
    note(`${what}, every round: ${rounds.all(what).map(Math.round).join(', ')} ms`);
}

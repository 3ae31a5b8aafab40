import type { DevloopRun } from '../../support/devloop.ts';
import { load } from '../../support/reviews.ts';
import { note, report } from '../figures.ts';
import { edit, firstAnswer, type Loop } from './sample.ts';

const RESTARTS = Number(process.env.BENCH_RESTARTS ?? 20);
const REVIEWS_PER_SECOND = 100;

/** One saved change after another, while reviews arrive all the time. */
export async function restartFigure(loop: Loop, run: DevloopRun): Promise<void> {
  const restarts = (async () => {
    for (let count = 0; count < RESTARTS; count++) {
      const text = await edit(loop);
      await firstAnswer(loop.reviewer, text, performance.now());
      await run.waitFor('controller.replaced');
    }
  })();
  const { asked, failures, slowestMs } = await load(loop.reviewer, REVIEWS_PER_SECOND, restarts, (answer) =>
    answer.includes('answer number'),
  );
  await restarts;
  if (asked < RESTARTS * REVIEWS_PER_SECOND) throw new Error(`only ${asked} reviews in ${RESTARTS} restarts`);
  report({
    name: `failed reviews over ${RESTARTS} restarts (${loop.name})`,
    ours: failures.length,
    unit: '',
    goal: { most: 0 },
  });
  note(`${asked} reviews at ${REVIEWS_PER_SECOND} a second; the slowest took ${slowestMs.toFixed(0)} ms`);
  for (const failure of new Set(failures)) note(failure);
}

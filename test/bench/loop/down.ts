import { tmpdir } from 'node:os';
import { BIN } from '../../support/devloop.ts';
import { DEPLOYMENT, NAMESPACE, rolledOut } from '../../support/sample-operator.ts';
import { report } from '../figures.ts';
import { median, ROUNDS, timeOne } from '../measure.ts';
import { firstAnswer, type Loop, startUp } from './sample.ts';

/** `devloop down` after a crash, when the in-cluster Pod is ready again, so only the Service has to be restored. */
export async function downFigure(loop: Loop): Promise<void> {
  const { cluster, reviewer } = loop;
  const env = loop.env as NodeJS.ProcessEnv;
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const run = await startUp(loop);
    run.signal('SIGKILL');
    await run.exited;
    await cluster.kubectl(['-n', NAMESPACE, 'scale', `deployment/${DEPLOYMENT}`, '--replicas=1']);
    await rolledOut(cluster);
    times.push(await timeOne([process.execPath, BIN, 'down'], { cwd: tmpdir(), env }));
    await firstAnswer(reviewer, loop.inCluster, performance.now());
  }
  report({
    name: `down, in-cluster Pod ready (${loop.name})`,
    ours: median(times),
    unit: 'ms',
    goal: { most: 1000 },
  });
}

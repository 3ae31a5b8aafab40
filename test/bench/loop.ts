import { startCluster, type TestCluster } from '../cluster/cluster.ts';
import { createReviewer } from '../support/reviews.ts';
import { checkoutSample, deploySample } from '../support/sample-operator.ts';
import { downFigure } from './loop/down.ts';
import { countRequestsOfUp } from './loop/requests.ts';
import { restartFigure } from './loop/restarts.ts';
import { edit, type Loop, startUp, stop } from './loop/sample.ts';
import { statusFigure } from './loop/status.ts';
import { upAndSaveFigures } from './loop/up-and-save.ts';

/** What people wait for while they work on an operator, with kube-apiserver calling webhooks through kube-proxy or past it. */
export async function clusterFigures(): Promise<void> {
  for (const aggregatorRouting of [false, true]) {
    await using cluster = await startCluster({ aggregatorRouting, log: (line) => console.error(line) });
    await deploySample(cluster);
    await onCluster(cluster, aggregatorRouting ? 'endpoint routing' : 'kube-proxy');
  }
}

async function onCluster(cluster: TestCluster, name: string): Promise<void> {
  await using checkout = await checkoutSample();
  await using reviewer = await createReviewer(cluster.kubeconfig);
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig, CGO_ENABLED: '0' };
  const loop: Loop = { name, cluster, reviewer, env, directory: checkout.directory, text: '', inCluster: '' };
  await edit(loop);
  await stop(await startUp(loop));
  await upAndSaveFigures(loop);
  await countRequestsOfUp(loop);
  await downFigure(loop);
  const run = await startUp(loop);
  await statusFigure(loop);
  await restartFigure(loop, run);
  await stop(run);
}

/** The relay route against `kubectl port-forward` in the same run. */
import { startCluster } from '../cluster/cluster.ts';
import { loadRelayImage } from '../support/relay-image.ts';
import { cutFigures } from './relay/cuts.ts';
import { farFigures } from './relay/far.ts';
import { memoryFigures } from './relay/memory.ts';
import { pathFigures } from './relay/path.ts';
import { startServerPod } from './relay/subjects.ts';
import { buildLoad } from './tunnel/load.ts';

export async function relayFigures(): Promise<void> {
  await using load = await buildLoad();
  await using cluster = await startCluster({ certManager: false, log: console.error });
  await loadRelayImage(cluster);
  await startServerPod(cluster, load);
  await pathFigures(cluster, load);
  await farFigures(cluster, load);
  await cutFigures(cluster, load);
  await memoryFigures(cluster, load);
}

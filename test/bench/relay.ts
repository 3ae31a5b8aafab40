/** The relay route against `kubectl port-forward` in the same run: `node test/bench/relay.ts [path] [far] [cuts] [memory]`. */
import { startCluster, type TestCluster } from '../cluster/cluster.ts';
import { loadRelayImage } from '../support/relay-image.ts';
import { cutFigures } from './relay/cuts.ts';
import { farFigures } from './relay/far.ts';
import { memoryFigures } from './relay/memory.ts';
import { pathFigures } from './relay/path.ts';
import { startServerPod } from './relay/subjects.ts';
import { buildLoad, type Load } from './tunnel/load.ts';

const PARTS: Record<string, (cluster: TestCluster, load: Load) => Promise<void>> = {
  path: pathFigures,
  far: farFigures,
  cuts: cutFigures,
  memory: memoryFigures,
};

/** All parts on a cluster of its own, or those that are named. */
export async function relayFigures(names = Object.keys(PARTS)): Promise<void> {
  await using load = await buildLoad();
  await using cluster = await startCluster({ certManager: false, log: console.error });
  await loadRelayImage(cluster);
  await startServerPod(cluster, load);
  for (const name of names) await PARTS[name]!(cluster, load);
}

if (import.meta.main) {
  const named = process.argv.slice(2);
  await relayFigures(named.length > 0 ? named : undefined);
}

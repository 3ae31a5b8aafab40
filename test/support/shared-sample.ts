import { startCluster, type TestCluster } from '../cluster/cluster.ts';
import { deploySample } from './sample-operator.ts';

let started: Promise<TestCluster> | undefined;

/** One cluster with the sample operator for all suites of a test file. It ends together with the machine of that file. */
export function sharedSample(): Promise<TestCluster> {
  started ??= start();
  return started;
}

async function start(): Promise<TestCluster> {
  const cluster = await startCluster({ log: (line) => console.error(line) });
  await deploySample(cluster);
  return cluster;
}

import { join } from 'node:path';
import { ensureClusterBinaries } from '../../test/cluster/build.ts';
import { startCluster, stopCluster } from '../../test/cluster/cluster.ts';
import { loadRelayImage } from '../../test/support/relay-image.ts';
import { deploySample } from '../../test/support/sample-operator.ts';
import { filesOnPath } from './on-disk.ts';
import { type DemoCluster, type Kept, Refusal, type Stage, within } from './stage.ts';

type Wanted = Omit<Stage, 'cluster'> & { keep: boolean };

const OTHERWISE = `

On any other machine, run the demo without a cluster, or in one of yours (kind, minikube, k3d, a remote one):
  npm run demo
  npm run demo -- --context NAME`;

/** A real one-node Kubernetes cluster in Linux namespaces of this machine, with the sample operator in a Pod. */
export async function openBox({ keep, checkout, logs, narrator, signal }: Wanted): Promise<DemoCluster> {
  narrator.chapter('A Kubernetes cluster, and an operator in it');
  const started = performance.now();
  const starting = startCluster({
    name: 'devloop-demo',
    detached: keep,
    log: (line) => narrator.say(`  ${line}`),
  });
  const cluster = await within(40 * 60, 'starting the cluster', signal, starting).catch(
    async (error: unknown) => {
      if (!signal.aborted)
        throw new Refusal(
          `${(error as Error).message.replace('npm test', 'npm run demo -- --cluster')}${OTHERWISE}`,
        );
      // Interrupted during the start, the demo removes what was started. A build of the cluster ends with this process.
      const late = new AbortController().signal;
      await within(
        20,
        'the start',
        late,
        starting.then(({ dir }) => stopCluster(dir)),
      ).catch(() => {});
      throw error;
    },
  );
  narrator.say(`  Kubernetes and cert-manager are running after ${seconds(started)} s.`);
  const kept: Kept = {
    checkout,
    kubeconfig: cluster.kubeconfig,
    clusterDirectory: cluster.dir,
    ...(filesOnPath('kubectl').length > 0
      ? {}
      : { kubectl: join((await ensureClusterBinaries({ log() {} })).dir, 'kubectl') }),
  };
  let done = false;
  const stop = async (): Promise<void> => {
    if (!done) await logs.copy(join(cluster.dir, 'logs'));
    if (!keep || signal.aborted || !done) await stopCluster(cluster.dir);
  };
  try {
    const deploying = performance.now();
    await within(600, 'deploying the sample operator', signal, deploySample(cluster));
    narrator.say(`  The sample operator is deployed after ${seconds(deploying)} s.`);
    // The node has no registry to pull from, and somebody who keeps the demo may want to try the relay route.
    if (keep) await within(120, "loading the relay's image", signal, loadRelayImage(cluster));
  } catch (error) {
    await stop();
    throw error;
  }
  done = true;
  return {
    embedded: false,
    devloop: { args: [], env: { KUBECONFIG: cluster.kubeconfig } },
    kubectlName: 'kubectl',
    kubectl: (args) =>
      cluster.kubectl(args).catch((error: Error) => Promise.reject(new Error(complaint(error, args)))),
    kept,
    async [Symbol.asyncDispose]() {
      await logs.copy(join(cluster.dir, 'logs'));
      await stop();
    },
  };
}

function seconds(since: number): string {
  return ((performance.now() - since) / 1000).toFixed(1);
}

/** kubectl's own message, without the command in front. */
function complaint({ message }: Error, args: string[]): string {
  const front = `${args.join(' ')}: `;
  const at = message.indexOf(front);
  return at < 0 ? message : message.slice(at + front.length);
}

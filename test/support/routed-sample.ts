import { type ClusterOptions, startCluster, type TestCluster } from '../cluster/cluster.ts';
import { loadRelayImage } from './relay-image.ts';
import { type Checkout, checkoutSample, deploySample, NAMESPACE } from './sample-operator.ts';
import { snapshot } from './snapshot.ts';
import { startSshd, type TestSshd } from './sshd/sshd.ts';

/** The sample operator, in a cluster from which every route works, and its checkout. */
export interface RoutedSample extends AsyncDisposable {
  cluster: TestCluster;
  sshd: TestSshd;
  checkout: Checkout;
  /** The cluster before the first take-over. */
  before: Awaited<ReturnType<typeof snapshot>>;
}

let shared: Promise<RoutedSample> | undefined;

/** One for all suites in this process, with one port of the SSH host. It ends together with the machine of their file. */
export function sharedRoutedSample(): Promise<RoutedSample> {
  shared ??= startRoutedSample(['GatewayPorts yes']);
  return shared;
}

export async function startRoutedSample(
  sshdConfig: string[],
  options: ClusterOptions = {},
): Promise<RoutedSample> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startCluster({ ...options, log: (line) => console.error(line) }));
  await loadRelayImage(cluster);
  await deploySample(cluster);
  const sshd = stack.use(await startSshd(sshdConfig));
  const checkout = stack.use(await checkoutSample());
  const before = await snapshot(cluster, NAMESPACE);
  const resources = stack.move();
  return { cluster, sshd, checkout, before, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

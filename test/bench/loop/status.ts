import { ensureClusterBinaries } from '../../cluster/build.ts';
import { BIN } from '../../support/devloop.ts';
import { NAMESPACE, SERVICE } from '../../support/sample-operator.ts';
import { report } from '../figures.ts';
import { timeCommands } from '../measure.ts';
import type { Loop } from './sample.ts';

const STATUS_ROUNDS = 20;

/** `devloop status` while somebody uses the operator. */
export async function statusFigure({ name, cluster, env }: Loop): Promise<void> {
  const { cluster: binary } = await ensureClusterBinaries({ log: (line) => console.error(line) });
  const path = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/devloop.service.${SERVICE}`;
  const kubectl = [binary, 'kubectl', '--kubeconfig', cluster.kubeconfig, 'get', '--raw', path];
  const status = [process.execPath, BIN, 'status'];
  const times = timeCommands({ status, kubectl }, STATUS_ROUNDS, env as NodeJS.ProcessEnv);
  report({
    name: `status (${name})`,
    ours: times.status!,
    unit: 'ms',
    anchor: { name: 'kubectl get --raw of the Lease', value: times.kubectl! },
    goal: { most: 1.5 },
  });
}

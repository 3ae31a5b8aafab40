import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { TestCluster } from '../cluster/cluster.ts';
import { checkoutSample, NAMESPACE, rolledOut, sampleImage } from './sample-operator.ts';

/** The sample operator with leader election, without webhooks. */
export async function deployElecting(cluster: TestCluster): Promise<void> {
  await using checkout = await checkoutSample();
  const overlay = join(checkout.directory, 'config/electing');
  await mkdir(overlay);
  const env = [{ name: 'ENABLE_WEBHOOKS', value: 'false' }];
  const patch = JSON.stringify([{ op: 'add', path: '/spec/template/spec/containers/0/env', value: env }]);
  const kustomization = {
    namespace: NAMESPACE,
    namePrefix: 'application-operator-',
    resources: ['../crd', '../rbac', '../manager'],
    patches: [{ target: { kind: 'Deployment' }, patch }],
  };
  await writeFile(join(overlay, 'kustomization.yaml'), stringify(kustomization));
  await cluster.importImage(await sampleImage());
  await cluster.apply(await cluster.kubectl(['kustomize', overlay]));
  await rolledOut(cluster);
}

interface LeaderLease {
  spec: { holderIdentity?: string; renewTime: string };
}

/** The Lease with which its Pods elect their leader. */
export async function leader(cluster: TestCluster): Promise<LeaderLease['spec']> {
  const { items } = (await cluster.read(`/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`)) as {
    items: (LeaderLease & { metadata: { name: string } })[];
  };
  return items.find(({ metadata }) => !metadata.name.startsWith('devloop.'))!.spec;
}

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { TestCluster } from '../cluster/cluster.ts';
import { type Checkout, checkoutSample, NAMESPACE, rolledOut, sampleImage } from './sample-operator.ts';

/** A checkout of the sample operator that leaves its Lease to expire when it ends, as most operators do. */
export async function checkoutElecting(): Promise<Checkout> {
  const checkout = await checkoutSample();
  await editMain(checkout, (text) =>
    text.replace(/LeaderElectionReleaseOnCancel: *true/, 'LeaderElectionReleaseOnCancel: false'),
  );
  return checkout;
}

/** Saves the main package of a checkout. Rejects if the edit changes nothing. */
export async function editMain({ directory }: Checkout, edit: (text: string) => string): Promise<void> {
  const file = join(directory, 'cmd/main.go');
  const before = await readFile(file, 'utf8');
  const after = edit(before);
  if (after === before) throw new Error('the edit changes nothing');
  await writeFile(file, after);
}

/** The sample operator with leader election, without webhooks. */
export async function deployElecting(cluster: TestCluster): Promise<void> {
  await using checkout = await checkoutElecting();
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
  await cluster.importImage(await sampleImage(checkout.directory));
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

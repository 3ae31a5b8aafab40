import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureClusterBinaries } from '../cluster/build.ts';
import { cached, hashOf } from '../cluster/cache.ts';
import type { TestCluster } from '../cluster/cluster.ts';
import { goBuild } from '../cluster/go-build.ts';
import { run } from '../cluster/run.ts';
import { condition, rolledOut as isRolledOut } from './cluster-waits.ts';

export const SAMPLE = join(import.meta.dirname, '../../examples/application-operator');
export const NAMESPACE = 'application-operator-system';
export const SERVICE = 'application-operator-webhook-service';
export const DEPLOYMENT = 'application-operator-controller-manager';
/** The container runtime expands short names. */
export const IMAGE = 'docker.io/library/application-operator:dev';

/**
 * The image of the sample operator in a checkout, as an OCI layout tar. It is built unless an earlier run has built it from the same
 * sources.
 */
export async function sampleImage(checkout = SAMPLE): Promise<string> {
  const sources = ['go.mod', 'go.sum', 'Dockerfile', '**/*.go'];
  const key = await hashOf(checkout, sources, IMAGE, process.arch);
  const directory = await cached('test-sample-image', key, async (part) => {
    const binary = join(part, 'manager');
    const { kit } = await ensureClusterBinaries({ log: (line) => console.error(line) });
    const what = 'the sample operator';
    await goBuild({ what, cwd: checkout, out: binary, packages: ['./cmd'] }, (line) => console.error(line));
    await run(kit, ['image', IMAGE, binary, join(part, 'image.tar')]);
    await rm(binary);
  });
  return join(directory, 'image.tar');
}

/** Deploys the sample operator from its checkout, as `make deploy` would. */
export async function deploySample(cluster: TestCluster, checkout = SAMPLE): Promise<void> {
  await cluster.importImage(await sampleImage(checkout));
  await cluster.apply(await sampleManifests(cluster, checkout));
  // A Pod that starts before its Secret exists waits for it for a long time, so the Certificate comes first.
  const certificates = `/apis/cert-manager.io/v1/namespaces/${NAMESPACE}/certificates`;
  await condition(cluster, `${certificates}/application-operator-serving-cert`, 'Ready');
  await rolledOut(cluster);
}

/** What `make deploy` applies, as YAML. It is rendered unless an earlier run has rendered the same sources. */
export async function sampleManifests(
  cluster: Pick<TestCluster, 'kubectl'>,
  checkout = SAMPLE,
): Promise<string> {
  const key = await hashOf(checkout, ['config/**/*.yaml']);
  const directory = await cached('test-sample-manifests', key, async (part) => {
    const text = await cluster.kubectl(['kustomize', join(checkout, 'config/default')]);
    await writeFile(join(part, 'all.yaml'), text);
  });
  return await readFile(join(directory, 'all.yaml'), 'utf8');
}

export interface Checkout extends AsyncDisposable {
  directory: string;
}

/** A checkout of its own, free to edit. */
export async function checkoutSample(): Promise<Checkout> {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-checkout-'));
  await cp(SAMPLE, directory, { recursive: true });
  return { directory, [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }) };
}

export function application(name: string, image: string, extra = ''): string {
  return `apiVersion: apps.example.com/v1
kind: Application
metadata: {name: ${name}, namespace: default}
spec: {image: "${image}"${extra}}
`;
}

/** Resolves when the operator's own Pod in the cluster is ready. */
export function rolledOut(cluster: Pick<TestCluster, 'read'>): Promise<void> {
  return isRolledOut(cluster, 'Deployment', `${NAMESPACE}/${DEPLOYMENT}`);
}

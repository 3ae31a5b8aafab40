import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TestCluster } from '../cluster/cluster.ts';

export const SAMPLE = join(import.meta.dirname, '../../examples/application-operator');
export const NAMESPACE = 'application-operator-system';
export const SERVICE = 'application-operator-webhook-service';
export const DEPLOYMENT = 'application-operator-controller-manager';
/** The container runtime expands short names. */
const IMAGE = 'docker.io/library/application-operator:dev';

const execute = promisify(execFile);

/** Builds the sample operator's image from its checkout and deploys it, as `make deploy` would. */
export async function deploySample(cluster: TestCluster, checkout = SAMPLE): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-image-'));
  try {
    const binary = join(directory, 'manager');
    await execute('go', ['build', '-o', binary, './cmd'], {
      cwd: checkout,
      env: { ...process.env, CGO_ENABLED: '0' },
      maxBuffer: 1 << 24,
    });
    await cluster.loadImage(IMAGE, binary);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
  await cluster.kubectl(['apply', '--server-side', '-k', join(checkout, 'config/default')]);
  // A Pod that was early waits long for its Secret: the Certificate first, then the rollout.
  await cluster.kubectl([
    '-n',
    NAMESPACE,
    'wait',
    '--for=condition=Ready',
    'certificate/application-operator-serving-cert',
    '--timeout=60s',
  ]);
  await rolledOut(cluster);
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
export async function rolledOut(cluster: Pick<TestCluster, 'kubectl'>): Promise<void> {
  await cluster.kubectl(['-n', NAMESPACE, 'rollout', 'status', `deployment/${DEPLOYMENT}`, '--timeout=120s']);
}

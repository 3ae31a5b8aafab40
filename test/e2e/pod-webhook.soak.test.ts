/** An operator whose own webhook reviews the Pods of its namespace, and admits none while it does not answer. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, expect, it } from 'vitest';
import type { WebhookConfiguration } from '../../src/cluster/api/objects.ts';
import type { TestCluster } from '../cluster/cluster.ts';
import { type DevloopRun, runDevloop, startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { inSoak } from '../support/repeat.ts';
import { type RoutedSample, sharedRoutedSample } from '../support/routed-sample.ts';
import { NAMESPACE, rolledOut, SERVICE } from '../support/sample-operator.ts';
import { snapshot } from '../support/snapshot.ts';

const SERVER = ['--', process.execPath, join(import.meta.dirname, '../fixtures/e2e/allows-all.mjs'), '9443'];
const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
const CONFIGURATION = 'application-operator-validating-webhook-configuration';
const AT_ONCE = '&gracePeriodSeconds=0';

let sample: RoutedSample;
let cluster: TestCluster;

beforeAll(async () => {
  sample = await sharedRoutedSample();
  cluster = sample.cluster;
});

const removeGuard = (): Promise<unknown> =>
  cluster.call('DELETE', `${CONFIGURATIONS}?fieldSelector=metadata.name%3Dpods`);

afterEach(removeGuard);

/** As operators usually do, the webhook leaves out their own Pods. */
async function guardPods(): Promise<void> {
  const { webhooks } = (await cluster.read(`${CONFIGURATIONS}/${CONFIGURATION}`)) as WebhookConfiguration;
  const { caBundle } = webhooks![0]!.clientConfig;
  const webhook = {
    name: 'pods.apps.example.com',
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    failurePolicy: 'Fail',
    timeoutSeconds: 5,
    clientConfig: { caBundle, service: { namespace: NAMESPACE, name: SERVICE, path: '/pods' } },
    rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }],
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': NAMESPACE } },
    objectSelector: { matchExpressions: [{ key: 'control-plane', operator: 'DoesNotExist' }] },
  };
  await cluster.call('POST', CONFIGURATIONS, { metadata: { name: 'pods' }, webhooks: [webhook] });
}

async function takenOver(): Promise<DevloopRun> {
  const up = startDevloop(['up', '--route', 'relay', ...SERVER], {
    cwd: sample.checkout.directory,
    env: { KUBECONFIG: cluster.kubeconfig },
  });
  await up.waitFor('session.ready', undefined, 120_000);
  await guardPods();
  return up;
}

const removeRelay = (how: string): Promise<unknown> =>
  cluster.call('DELETE', `/api/v1/namespaces/${NAMESPACE}/pods?labelSelector=devloop.dev/relay${how}`);

async function expectEqual(): Promise<void> {
  await removeGuard();
  await eventually(async () => expect(await snapshot(cluster, NAMESPACE)).toEqual(sample.before));
  await rolledOut(cluster);
}

const WAYS: [string, string][] = [
  ['is terminating', ''],
  ['is gone at once', AT_ONCE],
];

it.each(inSoak(WAYS, 'is terminating'))(
  'a relay Pod that %s cannot be replaced: a warning with a hint; Ctrl-C restores everything',
  async (_, how) => {
    await using up = await takenOver();
    await removeRelay(how);
    const warning = await up.waitFor('warning', ({ code }) => code === 'relay.not-replaced');
    const failure = expect.stringContaining('failed calling webhook "pods.apps.example.com"');
    expect(warning.values).toMatchObject({ failure });
    expect(warning.hint).toContain('label devloop.dev/relay');
    up.signal('SIGINT');
    expect(await up.exited, up.log()).toBe(130);
    await expectEqual();
  },
);

it('down restores everything where the relay Pod is gone at once, too', async () => {
  await using up = await takenOver();
  await removeRelay(AT_ONCE);
  await up.waitFor('warning', ({ code }) => code === 'relay.not-replaced');
  up.signal('SIGKILL');
  await up.exited;
  const { code, log } = await runDevloop(['down'], {
    cwd: tmpdir(),
    env: { KUBECONFIG: cluster.kubeconfig },
  });
  expect(code, log).toBe(0);
  await expectEqual();
});

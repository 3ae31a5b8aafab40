import { beforeEach, expect, it } from 'vitest';
import type { Kind } from '../../../src/cluster/api/kinds.ts';
import type { EndpointSlice, Endpoints, KubeObject, Service } from '../../../src/cluster/api/objects.ts';
import { relayLabels, SESSION_LABEL } from '../../../src/cluster/names.ts';
import { findMarked } from '../../../src/cluster/takeover/find-marked.ts';
import {
  removeRelays,
  restoreServices,
  waitForControllerSlices,
} from '../../../src/cluster/takeover/restore-steps.ts';
import { pointToPods } from '../../../src/cluster/takeover/service.ts';
import { restore } from '../../../src/session/end/restore.ts';
import { type FakeCluster, fakeCluster, refusal } from '../../support/fake-cluster.ts';

const labels = { [SESSION_LABEL]: 's1' };
const CONTROLLER = 'endpointslice-controller.k8s.io';
const signal = new AbortController().signal;
const emit = (): void => {};
let cluster: FakeCluster;
const work = () => ({ api: cluster.api, sessionId: 's1', emit, signal });
const put = (kind: Kind, name: string, rest: object = {}): KubeObject =>
  cluster.put(kind, { metadata: { name, namespace: 'shop', labels }, ...rest } as KubeObject);
const service = (): Service => cluster.read<Service>('Service', 'webhook', 'shop')!;
const kinds = (marked: { ref: { kind: string } }[]): string[] => marked.map((one) => one.ref.kind).sort();

function slice(pod: string): EndpointSlice & object {
  return {
    metadata: {
      name: 'webhook-x',
      namespace: 'shop',
      labels: {
        ...labels,
        'kubernetes.io/service-name': 'webhook',
        'endpointslice.kubernetes.io/managed-by': CONTROLLER,
      },
    },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.1.1.1'], targetRef: { kind: 'Pod', name: pod } }],
  };
}

beforeEach(async () => {
  cluster = fakeCluster();
  cluster.put<Service>('Service', {
    metadata: { name: 'webhook', namespace: 'shop' },
    spec: { selector: { app: 'shop' }, ports: [{ port: 443 }] },
  });
  await pointToPods(service(), relayLabels('s1')).apply(work());
  put('Pod', 'devloop-relay-s1-ab12');
  put('Secret', 'devloop-relay-s1');
});

it('a replaced selector is restored', async () => {
  expect(service().spec.selector).toEqual({ 'devloop.dev/relay': 's1' });
  await restore(work(), [], { managerReadySeconds: 0 });
  expect(service()).toMatchObject({ spec: { selector: { app: 'shop' } } });
  expect((await findMarked(cluster.api, [])).marked).toEqual([]);
});

it('the relay is deleted after its Service is restored, and its Secret before its Pod', async () => {
  cluster.calls.length = 0;
  await restore(work(), [], { managerReadySeconds: 0 });
  const writes = cluster.calls.filter((call) => /^(patch|remove)/.test(call));
  expect(writes).toEqual([
    'patch Service shop/webhook',
    'remove Secret shop/devloop-relay-s1',
    'remove Pod shop/devloop-relay-s1-ab12',
  ]);
});

it("endpoints that the controllers created with the session's label are left to them", async () => {
  cluster.put<EndpointSlice>('EndpointSlice', slice('devloop-relay-s1-ab12'));
  put('Endpoints', 'webhook');
  expect(kinds((await findMarked(cluster.api, [], { sessionId: 's1' })).marked)).toEqual([
    'Pod',
    'Secret',
    'Service',
  ]);
  await restore(work(), [], { managerReadySeconds: 0 });
  expect(cluster.read<Endpoints>('Endpoints', 'webhook', 'shop')).toBeDefined();
  expect(cluster.read<EndpointSlice>('EndpointSlice', 'webhook-x', 'shop')).toBeDefined();
});

it("other Pods and Secrets with the session's label are left alone", async () => {
  put('Pod', 'manager-1');
  put('Secret', 'webhook-server-cert');
  const { marked } = await findMarked(cluster.api, [], { sessionId: 's1' });
  await removeRelays(work(), marked);
  expect(cluster.names('Pod')).toEqual(['manager-1']);
  expect(cluster.names('Secret')).toEqual(['webhook-server-cert']);
});

it('the Secret is deleted where Secrets cannot be listed, without a warning', async () => {
  cluster.hook.before = (verb, what) => {
    if (verb === 'list' && what.startsWith('Secret')) throw refusal(403, 'Forbidden');
  };
  const { marked, unseen } = await findMarked(cluster.api, [], { sessionId: 's1' });
  expect(unseen).toEqual([]);
  await removeRelays(work(), marked);
  expect(cluster.names('Secret')).toEqual([]);
});

it('the Secret of a killed session is found by its name where Secrets cannot be listed', async () => {
  cluster.drop('Pod', 'devloop-relay-s1-ab12', 'shop');
  cluster.hook.before = (verb, what) => {
    if (verb === 'list' && what.startsWith('Secret')) throw refusal(403, 'Forbidden');
  };
  expect(kinds((await findMarked(cluster.api, [])).marked)).toEqual(['Secret', 'Service']);
  await restore(work(), [], { managerReadySeconds: 0 });
  expect(cluster.names('Secret')).toEqual([]);
});

it('Secrets are searched only in namespaces with other marks, never in the whole cluster', async () => {
  cluster.calls.length = 0;
  await findMarked(cluster.api, ['default']);
  expect(cluster.calls.filter((call) => call.startsWith('list Secret')).sort()).toEqual([
    'list Secret default',
    'list Secret shop',
  ]);
});

it('a slice that still points to the relay does not count as restored', async () => {
  cluster.put<EndpointSlice>('EndpointSlice', slice('devloop-relay-s1-ab12'));
  const { marked } = await findMarked(cluster.api, [], { sessionId: 's1' });
  await restoreServices(work(), marked);
  const services = [{ kind: 'Service', namespace: 'shop', name: 'webhook' }] as const;
  let looks = 0;
  cluster.hook.before = (verb, what) => {
    if (verb !== 'list' || what !== 'EndpointSlice shop' || ++looks < 5) return;
    cluster.edit<EndpointSlice>('EndpointSlice', 'webhook-x', 'shop', (now) => {
      now.endpoints = slice('manager-1').endpoints;
    });
  };
  await waitForControllerSlices(work(), [...services], marked, 10_000);
  expect(looks).toBe(5);
});

it('a Secret alone shows that there was a session: it may have been killed before it created the Pod', async () => {
  const cluster = fakeCluster();
  const metadata = { name: 'devloop-relay-s1', namespace: 'shop', labels: { 'devloop.dev/session': 's1' } };
  cluster.put('Secret', { metadata });
  const { marked } = await findMarked(cluster.api, ['shop'], { secrets: false });
  expect(marked.map(({ ref, sessionId }) => [ref.name, sessionId])).toEqual([['devloop-relay-s1', 's1']]);
  expect(cluster.calls.filter((call) => call.includes('Secret'))).toEqual(['list Secret shop']);
});

import { expect, test } from 'vitest';
import type { ClusterApi } from '../../../../src/cluster/api/client.ts';
import { ApiError } from '../../../../src/cluster/api/errors.ts';
import type { DevloopEvent } from '../../../../src/report/events.ts';
import { clientConfigs, type Declared } from '../../../../src/session/embedded/declared.ts';
import { install } from '../../../../src/session/embedded/install.ts';
import { partly } from '../../../support/partly.ts';

const object = (kind: string, name: string, more: object = {}): Declared =>
  ({ apiVersion: 'v1', kind, metadata: { name, namespace: 'shop' }, ...more }) as Declared;
const service = (name: string) => object('Service', name);
const hook = (name: string, path = '/a') =>
  object('ValidatingWebhookConfiguration', `of-${name}`, {
    webhooks: [{ clientConfig: { service: { name, namespace: 'shop', path } } }],
  });

/** The writes to an API server that serves these kinds, as `PATCH resource/name`, and what is said. */
async function installed(declared: Declared[], refusals: (ApiError | undefined)[] = []) {
  const live = new Map<string, Declared>();
  const writes: string[] = [];
  const codes: string[] = [];
  const resources = [
    'Namespace',
    'Service',
    'Deployment',
    'ConfigMap',
    'Secret',
    'ValidatingWebhookConfiguration',
  ].map((kind) => ({ kind, name: kind.toLowerCase(), namespaced: false }));
  const call = async (method: string, path: string, body?: Declared) => {
    if (method === 'GET') return live.get(path) ?? { resources };
    if (body) live.set(path, structuredClone(body));
    writes.push(`${method} ${path.replace('/api/v1/', '')}`);
    const refusal = refusals.shift();
    if (refusal) throw refusal;
  };
  const { update, serveOnly } = await install(
    partly<ClusterApi>({ call: call as ClusterApi['call'] }),
    declared,
    {
      signal: new AbortController().signal,
      emit: (event: DevloopEvent) => void ('code' in event && codes.push(`${event.code}`)),
    },
  );
  const take = <T>(list: T[]): T[] => list.splice(0);
  return { update, serveOnly, live, writes: () => take(writes), codes: () => take(codes) };
}

test('only what has changed is written again, what is gone is deleted, and CRDs and what is taken over stay', async () => {
  const settings = (a: string) => object('ConfigMap', 'settings', { data: { a } });
  const { update, writes } = await installed([
    service('hooks'),
    hook('hooks'),
    settings('1'),
    object('ConfigMap', 'old'),
    object('CustomResourceDefinition', 'old'),
  ]);
  expect(writes()).toEqual([
    'PATCH namespace/shop',
    'PATCH service/hooks',
    'PATCH configmap/settings',
    'PATCH configmap/old',
    'PATCH secret/devloop-webhook-cert',
    'PATCH validatingwebhookconfiguration/of-hooks',
  ]);
  const changed = { ...service('hooks'), spec: { selector: { a: 'b' } } };
  expect(await update([changed, hook('hooks'), settings('2')])).toEqual([
    'ConfigMap settings',
    'ConfigMap old',
  ]);
  expect(writes()).toEqual(['PATCH configmap/settings', 'DELETE configmap/old']);
  expect(await update([changed, hook('hooks', '/b'), settings('2')])).toEqual([
    'ValidatingWebhookConfiguration of-hooks',
  ]);
});

test('a Namespace, a Service and a Deployment that are new in the checkout are created', async () => {
  const { update, writes } = await installed([service('hooks')]);
  writes();
  const inOther = { metadata: { name: 'settings', namespace: 'other' } };
  await update([
    service('hooks'),
    service('metrics'),
    object('Deployment', 'more'),
    object('ConfigMap', '', inOther),
  ]);
  expect(writes()).toEqual([
    'PATCH namespace/other',
    'PATCH service/metrics',
    'PATCH deployment/more',
    'PATCH configmap/settings',
  ]);
});

test('a Service that is new, and what is left out, is said once', async () => {
  const { update, codes } = await installed([service('hooks'), hook('hooks'), object('Job', 'a')]);
  expect(codes()).toEqual(['embedded.left-out']);
  const all = [
    service('hooks'),
    hook('hooks'),
    service('more'),
    hook('more'),
    object('Job', 'a'),
    object('Job', 'b'),
  ];
  await update(all);
  expect(codes()).toEqual(['manifests.new-service', 'embedded.left-out']);
  await update(all);
  expect(codes()).toEqual([]);
});

test('what an API server that has just started refuses is written again: its own namespaces and the addresses of Services come a moment later', async () => {
  const inDefault = [{ ...service('hooks'), metadata: { name: 'hooks', namespace: 'default' } }];
  const noNamespace = new ApiError('namespaces "default" not found', 404, 'NotFound');
  const noAddress = new ApiError('failed to allocate a serviceIP: range is full', 500, 'InternalError');
  const { writes, codes } = await installed(inDefault, [noNamespace, noAddress]);
  expect(writes()).toEqual(Array(3).fill('PATCH service/hooks'));
  expect(codes()).toEqual([]);
});

test('any other namespace that no manifest has is created, and one that is still missing is said', async () => {
  const other = [{ ...service('hooks'), metadata: { name: 'hooks', namespace: 'kube-hooks' } }];
  const missing = new ApiError('namespaces "kube-hooks" not found', 404, 'NotFound');
  const { writes, codes } = await installed(other, [undefined, missing]);
  expect(writes()).toEqual(['PATCH namespace/kube-hooks', 'PATCH service/hooks']);
  expect(codes()).toEqual(['embedded.left-out']);
});

test('a caBundle that the controller has written stays when its webhook configuration changes', async () => {
  const { update, live, writes } = await installed([service('hooks'), hook('hooks')]);
  const [path, object] = [...live].find(([path]) => path.includes('configuration/'))!;
  const [before] = clientConfigs([object]);
  expect(before!.caBundle).toBeTruthy();
  before!.caBundle = 'own';
  writes();
  await update([service('hooks'), hook('hooks', '/b')]);
  expect(writes()).toEqual(['PATCH validatingwebhookconfiguration/of-hooks']);
  expect(clientConfigs([live.get(path)!])).toMatchObject([{ service: { path: '/b' }, caBundle: 'own' }]);
});

test('webhooks of Services that this session does not serve are left out, then and after each change, and the others stay', async () => {
  const both = object('ValidatingWebhookConfiguration', 'of-both', {
    webhooks: ['hooks', 'others'].map((name) => ({ clientConfig: { service: { name, namespace: 'shop' } } })),
  });
  const declared = [service('hooks'), service('others'), hook('hooks'), hook('others'), both];
  const { update, serveOnly, writes, codes } = await installed(declared);
  await serveOnly(['shop/hooks', 'shop/others']);
  expect(codes()).toEqual([]);
  writes();
  await serveOnly(['shop/hooks']);
  expect(writes()).toEqual([
    'PATCH validatingwebhookconfiguration/of-both',
    'DELETE validatingwebhookconfiguration/of-others',
  ]);
  expect(codes()).toEqual(['embedded.left-out', 'embedded.left-out']);
  await update([...declared, object('ConfigMap', 'new')]);
  expect(writes()).toEqual(['PATCH configmap/new']);
});

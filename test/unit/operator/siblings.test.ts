import { expect, test } from 'vitest';
import { refOf } from '../../../src/cluster/api/kinds.ts';
import type { Metadata } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import { reportSiblings, siblingsOf } from '../../../src/operator/siblings.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';

interface Described extends Pick<Metadata, 'labels' | 'ownerReferences'> {
  image: string;
  replicas?: number;
  account?: string;
}

function workload(
  name: string,
  { image, replicas = 1, account = 'own', labels, ownerReferences }: Described,
): Workload {
  const containers = [
    { name: 'proxy', image: 'quay.io/brancz/kube-rbac-proxy:v0.18.0' },
    { name: 'main', image },
  ];
  const metadata = {
    name,
    namespace: 'ops',
    ...(labels && { labels }),
    ...(ownerReferences && { ownerReferences }),
  };
  const template = { spec: { containers, serviceAccountName: account } };
  return { metadata, spec: { replicas, selector: {}, template } };
}

const part = (value: string): Record<string, string> => ({ 'app.kubernetes.io/part-of': value });
const owner = (kind: string): NonNullable<Metadata['ownerReferences']> => [
  { kind, name: 'x', uid: 'u', controller: true },
];
const MANAGER: Described = { image: 'ghcr.io/acme/shop/manager:v2', labels: part('shop') };

test.each<[string, string, Described, boolean]>([
  ['of the same image', 'audit', { image: 'ghcr.io/acme/shop/manager:v1' }, true],
  ['of the same image by digest', 'audit', { image: 'ghcr.io/acme/shop/manager@sha256:00' }, true],
  ['of the same publisher and label', 'web', { image: 'ghcr.io/acme/hooks', labels: part('shop') }, true],
  ['of the same publisher and name', 'shop-web', { image: 'ghcr.io/acme/shop/hooks' }, true],
  [
    'that OLM owns',
    'shop-web',
    { image: 'ghcr.io/acme/shop/hooks', ownerReferences: owner('ClusterServiceVersion') },
    true,
  ],
  ['of the same publisher only', 'billing', { image: 'ghcr.io/acme/billing' }, false],
  ['that has only the same sidecar', 'billing', { image: 'ghcr.io/other/billing' }, false],
  ['of another publisher', 'shop-db', { image: 'postgres:17', labels: part('shop') }, false],
  ['that is scaled to 0', 'audit', { image: 'ghcr.io/acme/shop/manager', replicas: 0 }, false],
  [
    'without an account of its own',
    'shop-web',
    { image: 'ghcr.io/acme/shop/hooks', account: 'default' },
    false,
  ],
  [
    'that the operator manages',
    'shop-web',
    { image: 'ghcr.io/acme/shop/hooks', ownerReferences: owner('Shop') },
    false,
  ],
])('a Deployment %s', (_, name, described, isSibling) => {
  const manager = workload('shop-manager', MANAGER);
  const object = workload(name, described);
  const found = siblingsOf(
    { object: manager, container: manager.spec.template.spec.containers[1]! },
    [{ ref: refOf('Deployment', object.metadata), object }],
    { names: new Set(['shop']) },
  );
  expect(found.map(({ ref }) => ref.name)).toEqual(isSibling ? [name] : []);
});

test.each<[string, string[] | undefined, string[]]>([
  ['none', undefined, ['ops/hooks', 'ops/audit']],
  ['two', ['ops/audit', 'hooks'], ['ops/hooks', 'ops/audit', 'ops/certs']],
])('with %s named, the note suggests the named ones and one more', async (_, deployments, expected) => {
  const all = ['audit', 'certs', 'hooks'].map((name) => workload(name, MANAGER));
  const object = all[2]!;
  const manager = {
    ref: refOf('Deployment', object.metadata),
    object,
    container: object.spec.template.spec.containers[1]!,
    source: '',
  };
  const events: DevloopEvent[] = [];
  const found = { manager, deployments: all, names: { services: [], deployments } };
  reportSiblings(found, { names: new Set() }, (event) => events.push(event));
  const command = `devloop up ${expected.map((name) => `--deployment ${name}`).join(' ')}`;
  expect(events).toMatchObject([
    { code: 'operator.siblings', message: expect.stringMatching(new RegExp(`: ${command}$`)) },
  ]);
});

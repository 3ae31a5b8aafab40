import { expect, it } from 'vitest';
import type { Service } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import { unselectedManager } from '../../../src/operator/rivals.ts';

const service: Service = { metadata: { name: 'webhook-service', namespace: 'shop' }, spec: {} };
const facts = { names: new Set(['shop']), images: new Set<string>() };

interface Signs {
  image?: string;
  port?: number;
  secret?: string;
  plane?: string;
}

function workload(name: string, { image = 'other', port, secret, plane }: Signs) {
  const metadata = { name, namespace: 'shop' };
  const container = {
    name: 'main',
    image,
    ...(port === undefined ? {} : { ports: [{ containerPort: port }] }),
    ...(secret === undefined ? {} : { volumeMounts: [{ name: 'v', mountPath: '/certs' }] }),
  };
  const volumes = secret === undefined ? [] : [{ name: 'v', secret: { secretName: secret } }];
  const labels = { app: name, ...(plane === undefined ? {} : { 'control-plane': plane }) };
  const object: Workload = {
    metadata,
    spec: { selector: {}, template: { metadata: { labels }, spec: { containers: [container], volumes } } },
  };
  return { ref: { kind: 'Deployment', ...metadata } as const, object };
}

const find = (...all: ReturnType<typeof workload>[]) =>
  unselectedManager(all, { service, ports: [9443] }, facts)?.ref.name;

const database = workload('database', { port: 5432, secret: 'password' });

it.each<[string, Signs]>([
  ['the image of the checkout', { image: 'ghcr.io/acme/shop:v1' }],
  ['the port and a Secret', { port: 9443, secret: 'cert' }],
  ["kubebuilder's label", { plane: 'controller-manager' }],
])('the manager behind a Service without a selector is found by %s', (_sign, signs) => {
  expect(find(database, workload('manager', signs))).toBe('manager');
});

it('a workload that shows none of these signs is not the manager, even if there is no other', () => {
  expect(find(database)).toBeUndefined();
  expect(find(workload('cache', { port: 9443 }))).toBeUndefined();
});

it('more signs count more', () => {
  const plane = 'controller-manager';
  const other = workload('other', { plane });
  expect(find(other, workload('manager', { plane, port: 9443, secret: 'cert' }))).toBe('manager');
});

it('two candidates are named, and one has to be chosen', () => {
  const two = ['a', 'b'].map((name) => workload(name, { port: 9443, secret: 'cert' }));
  expect(() => find(...two)).toThrow(
    expect.objectContaining({
      code: 'target.ambiguous',
      message: expect.stringMatching(/shop\/webhook-service .*: a, b\./),
      hint: expect.stringMatching(/--deployment shop\/a\n.*--deployment shop\/b/),
    }),
  );
});

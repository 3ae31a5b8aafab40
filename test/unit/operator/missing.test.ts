import { beforeEach, expect, it } from 'vitest';
import { AGAIN } from '../../../src/errors.ts';
import { discover } from '../../../src/operator/discover.ts';
import type { TargetNames } from '../../../src/operator/target.ts';
import { type FakeCluster, refusal } from '../../support/fake-cluster.ts';
import { checkoutFacts, clusterWithTable, install } from '../../support/operators.ts';

const PATH = '/validate-shop-example-com-v1-order';
const facts = checkoutFacts(['shop.example.com'], [PATH], ['shop']);
let cluster: FakeCluster;

beforeEach(() => {
  cluster = clusterWithTable();
  for (const namespace of ['shop-system', 'other-system'])
    install(cluster, {
      namespace,
      service: namespace.replace('system', 'webhook-service'),
      deployment: namespace.replace('system', 'controller-manager'),
      webhooks: [{ path: PATH, group: 'shop.example.com' }],
    });
});

async function hintFor(named: Partial<TargetNames>): Promise<string> {
  const names = { services: [], ...named };
  const finding = discover({ api: cluster.api, names, facts, emit: () => {} });
  return await finding.then(
    () => 'found',
    (error) => error.hint,
  );
}

it('a misspelt Service is refused with the similar one, in its namespace or in another', async () => {
  const hint = `${AGAIN} --service shop-system/shop-webhook-service`;
  expect(await hintFor({ services: ['shop-system/shop-webhok-service'] })).toBe(hint);
  expect(await hintFor({ services: ['shop-webhok'], namespace: 'shop-system' })).toBe(hint);
  expect(await hintFor({ services: ['shop-webhok-service'] })).toBe(hint);
  expect(await hintFor({ services: ['other-system/shop-webhook-service'] })).toBe(hint);
});

it('a misspelt Deployment is, too', async () => {
  const hint = `${AGAIN} --deployment shop-system/shop-controller-manager`;
  expect(await hintFor({ deployment: 'shop-system/shop-controler' })).toBe(hint);
});

it('the others that were named stay as they were typed', async () => {
  const right = 'other-system/other-webhook-service';
  expect(await hintFor({ services: [right, 'shop-webhok-service'] })).toBe(
    `${AGAIN} --service ${right} --service shop-system/shop-webhook-service`,
  );
  const deployments = ['other-controller-manager', 'shop-system/shop-controler'];
  expect(await hintFor({ deployment: deployments[1], deployments })).toBe(
    `${AGAIN} --deployment other-controller-manager --deployment shop-system/shop-controller-manager`,
  );
});

it('where none is similar, the hint names the Services that discovery finds, if they exist', async () => {
  const command = (namespace: string) =>
    `${AGAIN} --service ${namespace}-system/${namespace}-webhook-service`;
  const hint = await hintFor({ services: ['shop-system/redis'] });
  expect(hint.split('\n').sort()).toEqual([command('other'), command('shop')]);
  cluster.drop('Service', 'other-webhook-service', 'other-system');
  expect(await hintFor({ services: ['shop-system/redis'] })).toBe(command('shop'));
});

it('a Service that only a CRD or a configuration names is not in the hint', async () => {
  for (const namespace of ['shop', 'other'])
    cluster.drop('Service', `${namespace}-webhook-service`, `${namespace}-system`);
  const hint = await hintFor({});
  expect(hint).toContain('make deploy');
  expect(hint).not.toContain('webhook-service');
  expect(hint).not.toContain('get services');
});

it('where nothing is found either, the hint lists all names', async () => {
  for (const namespace of ['shop', 'other'])
    cluster.drop('Service', `${namespace}-webhook-service`, `${namespace}-system`);
  expect(await hintFor({ services: ['shop-system/redis'] })).toBe('kubectl -n shop-system get services');
});

it('where no workload is similar, the hint lists all of them', async () => {
  expect(await hintFor({ deployment: 'shop-system/redis' })).toBe(
    'kubectl -n shop-system get deployments,statefulsets,daemonsets',
  );
});

it('an account that may list one namespace alone learns the similar names there', async () => {
  cluster.hook.before = (verb, what) => {
    if (verb === 'list' && /^(Deployment|StatefulSet|DaemonSet) .*\*/.test(what))
      throw refusal(403, 'Forbidden');
  };
  expect(await hintFor({ deployment: 'shop-system/shop-controler' })).toContain('shop-controller-manager');
});

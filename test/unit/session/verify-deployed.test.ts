import { expect, it } from 'vitest';
import { mergeSettings } from '../../../src/config/merge.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { deployedManager } from '../../../src/session/verify/deployed.ts';
import { refusal } from '../../support/fake-cluster.ts';
import { checkoutFacts, clusterWithTable, install } from '../../support/operators.ts';

const PATH = '/validate-shop-example-com-v1-order';
const facts = checkoutFacts(['shop.example.com'], [PATH], ['shop']);

function lookIn(cluster: ReturnType<typeof clusterWithTable>, env: NodeJS.ProcessEnv = {}) {
  const events: DevloopEvent[] = [];
  const io = { emit: (event: DevloopEvent) => void events.push(event) };
  const found = deployedManager(
    cluster.api,
    { facts, settings: mergeSettings({ given: {}, env, config: {} }) },
    io,
  );
  return found.then((manager) => ({ manager, notes: events.filter(({ type }) => type === 'note') }));
}

it('a manager that is deployed behind the named API server is found, as `up` would find it', async () => {
  const cluster = clusterWithTable();
  install(cluster, {
    ...{ namespace: 'shop-system', service: 'hooks', deployment: 'shop-manager' },
    webhooks: [{ path: PATH, group: 'shop.example.com' }],
  });
  const { manager, notes } = await lookIn(cluster);
  expect(manager?.manager.ref).toMatchObject({ namespace: 'shop-system', name: 'shop-manager' });
  expect(notes).toEqual([]);
});

it('if the operator is deployed twice, the namespace comes from the environment, as in `up`', async () => {
  const cluster = clusterWithTable();
  for (const namespace of ['blue', 'green'])
    install(cluster, {
      ...{ namespace, service: 'hooks', deployment: 'shop-manager' },
      webhooks: [{ path: PATH, group: 'shop.example.com' }],
    });
  const { manager } = await lookIn(cluster, { DEVLOOP_NAMESPACE: 'green' });
  expect(manager?.manager.ref).toMatchObject({ namespace: 'green', name: 'shop-manager' });
});

it('without a deployed manager, or without permission to look, verify goes on and says what is missing', async () => {
  const empty = await lookIn(clusterWithTable());
  const closed = clusterWithTable();
  closed.hook.before = () => {
    throw refusal(403, 'Forbidden', 'webhooks are forbidden');
  };
  const forbidden = await lookIn(closed);
  for (const { manager, notes } of [empty, forbidden]) {
    expect(manager).toBeUndefined();
    expect(notes).toEqual([expect.objectContaining({ code: 'verify.not-deployed' })]);
  }
});

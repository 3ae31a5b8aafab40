import { expect, test } from 'vitest';
import type { Service } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import { AGAIN } from '../../../src/errors.ts';
import { discover } from '../../../src/operator/discover.ts';
import { alsoPause as alsoPauseOf } from '../../../src/session/start/pause.ts';
import { checkoutFacts, clusterWithTable, install } from '../../support/operators.ts';
import { settingsOf } from '../../support/settings.ts';

const NAMESPACE = 'shop-system';
const PATH = '/validate-shop-example-com-v1-order';
const facts = checkoutFacts(['shop.example.com'], [PATH], ['shop']);

/** managedFields of the webhook Service name the program of Deployment shop-system/operator. */
function cluster() {
  const found = clusterWithTable();
  const webhooks = [{ path: PATH, group: 'shop.example.com' }];
  install(found, { namespace: NAMESPACE, service: 'hooks', deployment: 'shop-hooks', webhooks });
  found.edit<Service>('Service', 'hooks', NAMESPACE, ({ metadata }) => {
    const fieldsV1 = { 'f:spec': { 'f:selector': {} } };
    metadata.managedFields = [{ manager: 'shop-operator', operation: 'Update', fieldsV1 }];
  });
  const deploy = (name: string, namespace = NAMESPACE, replicas = 1): void => {
    const labels = { app: name };
    const container = { name, command: [`/bin/shop-${name}`] };
    const template = { metadata: { labels }, spec: { containers: [container] } };
    const spec = { replicas, selector: { matchLabels: labels }, template };
    found.put<Workload>('Deployment', { metadata: { name, namespace }, spec });
  };
  deploy('operator');
  deploy('hub', 'elsewhere');
  deploy('asleep', 'elsewhere', 0);
  return found;
}

async function paused(...named: string[]): Promise<string[]> {
  const { api } = cluster();
  const alsoPause = {
    named: named.filter((one) => one !== 'none'),
    nothingElse: named.includes('none'),
  };
  const names = { services: [], ...(named.length > 0 && { alsoPause }) };
  const { reconcilers = [] } = await discover({ api, names, facts, emit: () => {} });
  return reconcilers.map(({ ref, isNamed }) => `${ref.name}${isNamed ? ', named' : ''}`);
}

test('what managedFields names is only a suspect until the user names it, too', async () => {
  expect(await paused()).toEqual(['operator']);
  expect(await paused('shop-system/operator')).toEqual(['operator, named']);
});

test('the user can name others, or want no other', async () => {
  expect(await paused('elsewhere/hub')).toEqual(['hub, named', 'operator']);
  expect(await paused('elsewhere/hub', 'none')).toEqual(['hub, named']);
  expect(await paused('none')).toEqual([]);
});

test('what a file names is not named by the user', async () => {
  const { api } = cluster();
  const alsoPause = { named: ['elsewhere/hub'], file: 'devloop.yaml', nothingElse: true };
  const { reconcilers } = await discover({ api, names: { services: [], alsoPause }, facts, emit: () => {} });
  expect(reconcilers).toEqual([expect.objectContaining({ namedIn: 'devloop.yaml' })]);
  expect(reconcilers![0]).not.toHaveProperty('isNamed');
});

test('only a flag is the word of the user', () => {
  const settingsFile = '/shop/devloop.yaml';
  const config = { alsoPause: ['bank/ledger', 'none'] };
  const named = ['bank/ledger'];
  expect(alsoPauseOf({ settings: settingsOf(config), settingsFile })).toEqual({
    ...{ named, file: settingsFile, nothingElse: true },
  });
  const settings = settingsOf(config, { alsoPause: named });
  expect(alsoPauseOf({ settings, settingsFile })).toEqual({ named, nothingElse: false });
});

test('the manager, and a Deployment that does not run, need no pause', async () => {
  expect(await paused('shop-system/shop-hooks', 'elsewhere/asleep', 'none')).toEqual([]);
});

test('a Deployment that does not exist is an error that offers similar names', async () => {
  await expect(paused('elsewhere/hubb')).rejects.toMatchObject({
    code: 'target.not-found',
    message: expect.stringContaining('elsewhere/hubb'),
    hint: `${AGAIN} --also-pause elsewhere/hub`,
  });
  await expect(paused('shop-system/operator', 'shop/hub')).rejects.toMatchObject({
    hint: `${AGAIN} --also-pause shop-system/operator --also-pause elsewhere/hub`,
  });
});

test('a Deployment that answers webhooks is not paused, even if the user names it', async () => {
  const found = cluster();
  const webhooks = [{ path: '/of-the-hub', group: 'hub.example.com' }];
  install(found, { namespace: 'elsewhere', service: 'hub', labels: { app: 'hub' }, webhooks });
  const names = { services: [], alsoPause: { named: ['elsewhere/hub'], nothingElse: false } };
  await expect(discover({ api: found.api, names, facts, emit: () => {} })).rejects.toMatchObject({
    code: 'pause.unsupported',
  });
});

import { expect, test } from 'vitest';
import { ApiError } from '../../../src/cluster/api/errors.ts';
import type { Config, Given } from '../../../src/config/table.ts';
import type { Target } from '../../../src/operator/target.ts';
import { assertNoWebhooks, requireRunnable } from '../../../src/session/start/undeployed.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';
import { clusterWithTable, convert } from '../../support/operators.ts';
import { settingsOf } from '../../support/settings.ts';
import { directoryWith } from '../controller/support/places.ts';

const root = '/nowhere';
const FACTS = { groups: new Set(['shop.example.com']), hasSources: true };

test('an operator that is not deployed needs its CRDs, unless the user names what to run', async () => {
  const cluster = clusterWithTable();
  convert(cluster, 'carts', 'other.example.com', 'x', 'x');
  const { api } = cluster;
  const root = await directoryWith({ Makefile: 'manifests:\ninstall: manifests\n' });
  const context = (controller: Config['controller'] = {}, given: Given = {}) => ({
    api,
    root,
    cwd: root,
    settings: settingsOf({ controller }, given),
  });
  await expect(requireRunnable(context(), FACTS, {})).rejects.toMatchObject({
    code: 'target.not-found',
    message: expect.stringContaining('shop.example.com'),
    hint: 'make manifests install\nWithout a cluster: devloop up --embedded',
  });
  await requireRunnable(context(), { ...FACTS, groups: new Set() }, {});
  await requireRunnable(context({}, { 'controller.run': ['./run'] }), FACTS, {});
  await requireRunnable(context({}, { 'controller.package': './cmd' }), FACTS, {});
  await requireRunnable(context({ run: ['./run'] }), FACTS, {});
  await requireRunnable(context({ package: './cmd' }), FACTS, {});
  convert(cluster, 'carts', 'shop.example.com', 'x', 'x');
  await requireRunnable(context(), FACTS, {});
});

test('an account that is not allowed to list CRDs runs the operator all the same', async () => {
  const { api } = fakeCluster(() => {
    throw new ApiError('forbidden', 403, 'Forbidden');
  });
  await requireRunnable({ api, root, cwd: root, settings: settingsOf() }, FACTS, {});
});

test('a command of which no source is known, or no controller at all, runs only if something matches', async () => {
  const { api } = clusterWithTable();
  const unknown = { groups: new Set<string>(), hasSources: false };
  const context = { api, root, cwd: root, settings: settingsOf() };
  const refused = { code: 'target.not-found', hint: expect.stringContaining('--service') };
  const command = ['python', 'main.py'];
  const typed = { ...context, settings: settingsOf({}, { 'controller.run': command }) };
  await expect(requireRunnable(typed, unknown, {})).rejects.toMatchObject(refused);
  const configured = { ...context, settings: settingsOf({ controller: { run: command } }) };
  await expect(requireRunnable(configured, unknown, {})).rejects.toMatchObject(refused);
  await expect(requireRunnable(context, FACTS, { controller: false })).rejects.toMatchObject(refused);
  await requireRunnable(typed, unknown, { webhooks: false });
  await requireRunnable(typed, { ...unknown, hasSources: true }, {});
  // --package names another program than the command of devloop.yaml.
  const named = settingsOf({ controller: { run: command } }, { 'controller.package': './cmd' });
  await requireRunnable({ ...context, settings: named }, unknown, {});
});

test('--no-webhooks is refused if a webhook Service matches', () => {
  const services = clusterServices();
  expect(() => assertNoWebhooks({ services }, { webhooks: false })).toThrow(
    expect.objectContaining({ code: 'usage.invalid' }),
  );
  assertNoWebhooks({ services: [] }, { webhooks: false });
  assertNoWebhooks({ services }, { webhooks: true });
});

function clusterServices(): Target['services'] {
  const service = { metadata: { namespace: 'shop', name: 'hook' }, spec: {} };
  return [{ service, serverName: 'hook.shop.svc', calls: [], ports: [], source: '' }];
}

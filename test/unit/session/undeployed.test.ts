import { expect, test } from 'vitest';
import { ApiError } from '../../../src/cluster/api/errors.ts';
import type { Config } from '../../../src/config/schema.ts';
import { requireDefinitions } from '../../../src/session/start/undeployed.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';
import { clusterWithTable, convert } from '../../support/operators.ts';

const FACTS = { groups: new Set(['shop.example.com']) };

test('an operator that is not deployed needs its CRDs, unless the user names what to run', async () => {
  const cluster = clusterWithTable();
  convert(cluster, 'carts', 'other.example.com', 'x', 'x');
  const { api } = cluster;
  const context = (controller: Config['controller'] = {}) => ({ api, config: { controller } });
  await expect(requireDefinitions(context(), FACTS, {})).rejects.toMatchObject({
    code: 'target.not-found',
    message: expect.stringContaining('shop.example.com'),
    hint: 'make install',
  });
  await requireDefinitions(context(), { groups: new Set() }, {});
  await requireDefinitions(context(), FACTS, { command: ['./run'] });
  await requireDefinitions(context(), FACTS, { package: './cmd' });
  await requireDefinitions(context({ run: ['./run'] }), FACTS, {});
  await requireDefinitions(context({ package: './cmd' }), FACTS, {});
  convert(cluster, 'carts', 'shop.example.com', 'x', 'x');
  await requireDefinitions(context(), FACTS, {});
});

test('an account that is not allowed to list CRDs runs the operator all the same', async () => {
  const { api } = fakeCluster(() => {
    throw new ApiError('forbidden', 403, 'Forbidden');
  });
  await requireDefinitions({ api, config: {} }, FACTS, {});
});

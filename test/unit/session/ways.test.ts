import { expect, test } from 'vitest';
import type { Permission } from '../../../src/cluster/api/permissions.ts';
import { askRights, permittedWays, type Rights, untried } from '../../../src/session/route/ways.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';

const CLUSTER = { context: 'kind-dev' };
const slices: Permission = { kind: 'EndpointSlice', verb: 'create', namespace: 'shop', why: 'lead it here' };
const forward: Permission = {
  kind: 'Pod',
  subresource: 'portforward',
  verb: 'create',
  namespace: 'shop',
  why: 'reach it',
};
const patch: Permission = { kind: 'Service', verb: 'patch', namespace: 'shop', why: 'lead it here' };

function rights(direct: Permission[], relay: Permission[], lacking: Permission[] = []): Rights {
  const ways = [
    { way: 'direct' as const, lacking: direct },
    { way: 'relay' as const, lacking: relay },
  ];
  return { asked: [], lacking, ways };
}

test('a way whose rights are missing is left out, and that is told', () => {
  const asked = rights([slices], []);
  expect(permittedWays(CLUSTER, asked)).toEqual(['relay']);
  expect(untried(asked)).toEqual([
    'The direct route is not tried: your account lacks permissions on EndpointSlice.',
  ]);
  expect(permittedWays(CLUSTER, rights([], [forward]))).toEqual(['direct']);
});

test('without any way, what the first one lacks is told', () => {
  expect(() => permittedWays(CLUSTER, rights([slices], [forward]))).toThrow(
    /create {2}endpointslices(?![\s\S]*portforward)/,
  );
});

test('what every way needs stands beside it', () => {
  expect(() => permittedWays(CLUSTER, rights([], [], [patch]))).toThrow(/patch {2}services/);
});

test('everything is asked for once, for the ways of the choice alone, and no way where no review comes', async () => {
  const asked: string[] = [];
  const cluster = fakeCluster((_method, _path, body) => {
    asked.push(JSON.stringify(body));
    return { status: { allowed: true } };
  });
  const all = await askRights(cluster.api, ['shop'], { webhooks: true, deployment: true }, 'auto');
  expect(all.ways).toEqual([
    { way: 'direct', lacking: [] },
    { way: 'relay', lacking: [] },
  ]);
  expect(new Set(asked).size).toBe(asked.length);
  asked.length = 0;
  const ssh = await askRights(
    cluster.api,
    ['shop'],
    { webhooks: true, deployment: true },
    { ssh: 'bastion' },
  );
  expect(ssh.ways).toEqual([{ way: { ssh: 'bastion' }, lacking: [] }]);
  expect(asked.some((one) => one.includes('portforward'))).toBe(false);
  const none = await askRights(cluster.api, ['shop'], { webhooks: false, deployment: true }, 'auto');
  expect(permittedWays(CLUSTER, none)).toEqual([]);
});

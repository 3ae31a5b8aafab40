import { expect, it } from 'vitest';
import type { ClusterApi } from '../../../../src/cluster/api/client.ts';
import type { Target } from '../../../../src/operator/target.ts';
import { ownPodOf } from '../../../../src/session/planning/own-pod.ts';
import { partly } from '../../../support/partly.ts';

const manager = partly<NonNullable<Target['manager']>>({
  ref: { kind: 'Pod', namespace: 'shop', name: 'manager' },
  object: {
    metadata: { namespace: 'shop', name: 'manager' },
    spec: { selector: {}, template: { spec: { containers: [] } } },
  },
});
const apiWith = (pods: object[]): ClusterApi => partly<ClusterApi>({ list: async () => pods as never });
const pod = (name: string, more: object = {}, phase = 'Running'): object => ({
  metadata: { name, uid: `uid of ${name}`, namespace: 'shop', ...more },
  status: { phase },
});

it('is a Pod of the manager that goes on, and not one that ends or that devloop has made', async () => {
  const pods = [
    pod('ended', {}, 'Succeeded'),
    pod('ending', { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    pod('stand-in', { labels: { 'devloop.dev/session': '1a2b3c4d' } }),
    pod('manager'),
  ];
  expect(await ownPodOf(apiWith(pods), { manager })).toEqual({ name: 'manager', uid: 'uid of manager' });
  expect(await ownPodOf(apiWith(pods.slice(0, 3)), { manager })).toBeUndefined();
  expect(await ownPodOf(apiWith(pods), {})).toBeUndefined();
});

import { describe, expect, it } from 'vitest';
import type { Deployment, Service } from '../../../src/cluster/api/objects.ts';
import type { PlannedChange } from '../../../src/cluster/step.ts';
import type { Target } from '../../../src/operator/target.ts';
import { objectText } from '../../../src/report/text.ts';
import { plannedLeases, plannedPause, plannedProbes, plannedWay } from '../../../src/session/start/plan.ts';

const service = (namespace: string, name: string): Service => ({
  metadata: { namespace, name },
  spec: { ports: [{ port: 443 }] },
});
const manager = (labels: Record<string, string> = {}, replicas?: number): Deployment => ({
  metadata: { namespace: 'shop', name: 'manager', labels },
  spec: {
    ...(replicas === undefined ? {} : { replicas }),
    selector: {},
    template: { spec: { containers: [] } },
  },
});
const target = (
  object: Deployment,
  services = [service('shop', 'hook'), service('till', 'hook')],
): Target => ({
  namespace: 'shop',
  services: services.map((one) => ({ service: one, serverName: '', calls: [], ports: [], source: '' })),
  deployment: { object, container: { name: 'manager' }, source: '' },
});
const objects = (planned: PlannedChange[]): string[] => planned.map(({ object }) => objectText(object));

it('names who holds what, and what proves the way', () => {
  expect(objects(plannedLeases(target(manager())))).toEqual([
    'Lease shop/devloop.service.hook',
    'Lease till/devloop.service.hook',
    'Lease shop/devloop.deployment.manager',
  ]);
  expect(objects(plannedProbes(target(manager())))).toEqual([
    'Service shop/devloop-probe-<session>',
    'Service till/devloop-probe-<session>',
    'ValidatingWebhookConfiguration devloop-probe-<session>-*',
  ]);
  expect(plannedProbes(target(manager(), []))).toEqual([]);
});

describe('a way', () => {
  it('to an address changes the endpoints of each Service', () => {
    const { changes } = plannedWay(target(manager(), [service('shop', 'hook')]), { ssh: 'dev@bastion' });
    expect(changes).toEqual([
      {
        action: 'update',
        object: { kind: 'Service', namespace: 'shop', name: 'hook' },
        detail: 'selector removed',
      },
      {
        action: 'update',
        object: { kind: 'Endpoints', namespace: 'shop', name: 'hook' },
        detail: 'to dev@bastion',
      },
      {
        action: 'create',
        object: { kind: 'EndpointSlice', namespace: 'shop', name: 'hook-devloop-<session>' },
        detail: 'to dev@bastion',
      },
      {
        action: 'delete',
        object: { kind: 'EndpointSlice', namespace: 'shop', name: 'hook-*' },
        detail: expect.any(String),
      },
    ]);
  });

  it('over the relay has one Pod and Secret for each namespace, and no endpoints', () => {
    const services = [service('shop', 'hook'), service('shop', 'other'), service('till', 'hook')];
    expect(objects(plannedWay(target(manager(), services), 'relay').changes)).toEqual([
      'Secret shop/devloop-relay-<session>',
      'Pod shop/devloop-relay-<session>-*',
      'Secret till/devloop-relay-<session>',
      'Pod till/devloop-relay-<session>-*',
      'Service shop/hook',
      'Service shop/other',
      'Service till/hook',
    ]);
  });
});

it.each([
  ['one where nothing is said', manager(), 'replicas 1 -> 0'],
  ['its own', manager({}, 3), 'replicas 3 -> 0'],
  ['those before a session that died', manager({ 'devloop.dev/replicas': '2' }, 0), 'replicas 2 -> 0'],
])('pauses a manager with this number of replicas: %s', (_, deployment, detail) => {
  expect(plannedPause(target(deployment))).toEqual([
    { action: 'update', object: { kind: 'Deployment', namespace: 'shop', name: 'manager' }, detail },
  ]);
});

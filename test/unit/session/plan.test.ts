import { describe, expect, it } from 'vitest';
import type { Service } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import type { PlannedChange } from '../../../src/cluster/step.ts';
import type { Target } from '../../../src/operator/target.ts';
import { objectText } from '../../../src/report/text.ts';
import { changesOf, type RoutePlan, type RouteSettings } from '../../../src/session/route/routing.ts';
import { planTakeOver } from '../../../src/session/start/plan.ts';

const service = (namespace: string, name: string): Service => ({
  metadata: { namespace, name },
  spec: { selector: { app: 'shop' }, ports: [{ port: 443 }] },
});
const manager = (labels: Record<string, string> = {}, replicas?: number): Workload => ({
  metadata: { namespace: 'shop', name: 'manager', labels },
  spec: {
    ...(replicas === undefined ? {} : { replicas }),
    selector: {},
    template: { spec: { containers: [] } },
  },
});
const target = (object: Workload, services = [service('shop', 'hook'), service('till', 'hook')]): Target => ({
  namespace: 'shop',
  services: services.map((one) => ({ service: one, serverName: '', calls: [], ports: [], source: '' })),
  manager: {
    ref: { kind: 'Deployment', namespace: 'shop', name: 'manager' },
    object,
    container: { name: 'manager' },
    source: '',
  },
});
const texts = (steps: { changes: PlannedChange[] }[]): string[] =>
  changesOf(steps).map(({ object }) => objectText(object));

function routePlan(choice: RouteSettings['choice'], services?: Service[]): RoutePlan {
  return planTakeOver(target(manager(), services), { choice }, []).routes[0]!;
}

it('names the Leases, and what verifies a route', () => {
  const plan = planTakeOver(target(manager()), { choice: 'auto' }, []);
  expect(texts(plan.leases)).toEqual([
    'Lease shop/devloop.service.hook',
    'Lease till/devloop.service.hook',
    'Lease shop/devloop.deployment.manager',
  ]);
  expect(texts(plan.verify)).toEqual([
    'Service shop/devloop-probe-<session>',
    'Service till/devloop-probe-<session>',
    'ValidatingWebhookConfiguration devloop-probe-<session>-*',
  ]);
});

it('needs no route without webhook Services', () => {
  expect(planTakeOver(target(manager(), []), { choice: 'auto' }, [])).toMatchObject({
    verify: [],
    routes: [],
  });
});

describe('a route', () => {
  it('to an address changes the endpoints of each Service', () => {
    const { open, point } = routePlan({ ssh: 'dev@bastion' }, [service('shop', 'hook')]);
    expect(open.changes).toEqual([]);
    expect(changesOf(point)).toMatchObject([
      { action: 'update', object: { kind: 'Service', namespace: 'shop', name: 'hook' } },
      { action: 'update', object: { kind: 'Endpoints', namespace: 'shop', name: 'hook' } },
      {
        action: 'create',
        object: { kind: 'EndpointSlice', namespace: 'shop', name: 'hook-devloop-<session>' },
      },
      { action: 'update', object: { kind: 'EndpointSlice', namespace: 'shop', name: 'hook-*' } },
    ]);
  });

  it('of a Service without a selector is no relay, and its endpoints may be patched', () => {
    const bare = { ...service('shop', 'hook'), spec: { ports: [{ port: 443 }] } };
    const { routes } = planTakeOver(target(manager(), [bare]), { choice: 'auto' }, []);
    expect(routes.map(({ name }) => name)).toEqual(['direct']);
    const patched = routes[0]!.point.flatMap(({ permissions }) =>
      permissions.filter(({ verb }) => verb === 'patch').map(({ kind }) => kind),
    );
    expect(patched).toEqual(['Service', 'Endpoints', 'EndpointSlice']);
  });

  it('over the relay creates one Pod and Secret for each namespace, and no endpoints', () => {
    const services = [service('shop', 'hook'), service('shop', 'other'), service('till', 'hook')];
    const { open, point } = routePlan('relay', services);
    expect(texts([open, ...point])).toEqual([
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

import { expect, test } from 'vitest';
import { WEBHOOK_KINDS } from '../../../src/cluster/api/kinds.ts';
import { mayDoEverything, type Permission } from '../../../src/cluster/api/permissions.ts';
import { deploymentPause } from '../../../src/cluster/takeover/pause/replicas.ts';
import { AGAIN, type DevloopError } from '../../../src/errors.ts';
import type { RoutePlan } from '../../../src/session/route/routing.ts';
import {
  type AllowedParts,
  askPermissions,
  commonPermissions,
  permittedRoutes,
  untriedRoutes,
} from '../../../src/session/start/permissions.ts';
import { anyTarget, planAnyTakeOver, planTakeOver } from '../../../src/session/start/plan.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';

const CLUSTER = { context: 'kind-dev' };
const why = 'test it';
const slices: Permission = { kind: 'EndpointSlice', verb: 'create', namespace: 'shop', why };
const forward: Permission = {
  kind: 'Pod',
  subresource: 'portforward',
  verb: 'create',
  namespace: 'shop',
  why,
};
const patch: Permission = { kind: 'Service', verb: 'patch', namespace: 'shop', why };

function allowed(direct: Permission[], relay: Permission[], lacking: Permission[] = []): AllowedParts {
  const routes = [
    { plan: { name: 'direct' } as RoutePlan, lacking: direct },
    { plan: { name: 'relay' } as RoutePlan, lacking: relay },
  ];
  return { asked: [], lacking, routes };
}

const names = (answer: AllowedParts): string[] => permittedRoutes(CLUSTER, answer).map(({ name }) => name);

test('a route without its permissions is skipped, with a reason', () => {
  const answer = allowed([slices], []);
  expect(names(answer)).toEqual(['relay']);
  expect(untriedRoutes(answer)).toMatchObject([
    { code: 'route.not-permitted', values: { route: 'direct', resources: ['endpointslices'] } },
  ]);
  expect(names(allowed([], [forward]))).toEqual(['direct']);
});

test('without any route, the error lists what the first one lacks', () => {
  expect(() => names(allowed([slices], [forward]))).toThrow(/create {2}endpointslices(?![\s\S]*portforward)/);
});

test('the error says how to name the namespace, where nobody has', () => {
  const hint = (guessed: boolean): unknown => {
    try {
      return permittedRoutes({ context: 'dev' }, allowed([slices], [forward]), guessed);
    } catch (error) {
      return (error as DevloopError).hint;
    }
  };
  expect(hint(true)).toContain(`${AGAIN} -n NAMESPACE\n`);
  expect(hint(false)).not.toContain('NAMESPACE');
});

test('the error lists what every route needs as well', () => {
  expect(() => names(allowed([], [], [patch]))).toThrow(/patch {2}services/);
});

test('every permission of the plan is asked for once, and none of the routes that are not chosen', async () => {
  const asked: string[] = [];
  const cluster = fakeCluster((_method, _path, body) => {
    asked.push(JSON.stringify(body));
    return { status: { allowed: true } };
  });
  const all = await askPermissions(cluster.api, planAnyTakeOver('shop', { choice: 'auto' }));
  expect(all.routes.map(({ plan, lacking }) => [plan.name, lacking])).toEqual([
    ['direct', []],
    ['relay', []],
  ]);
  expect(new Set(asked).size).toBe(asked.length);
  asked.length = 0;
  const plan = planAnyTakeOver('shop', { choice: { ssh: 'bastion' } });
  expect((await askPermissions(cluster.api, plan)).routes.map((one) => one.plan.name)).toEqual(['ssh']);
  expect(asked.some((one) => one.includes('portforward'))).toBe(false);
});

test('the list for an operator that was not found contains what --debug changes', async () => {
  const debugged = planAnyTakeOver('shop', { choice: 'auto' }, { ignore: false });
  const patched = commonPermissions(debugged)
    .filter(({ verb }) => verb === 'patch')
    .map(({ kind }) => kind);
  for (const kind of WEBHOOK_KINDS) expect(patched).toContain(kind);
});

test('an account that may do everything is asked about nothing else, and one of which that is not known about everything', async () => {
  const asked: string[] = [];
  const cluster = fakeCluster((_method, _path, body) => {
    const { verb, resource } = (body as { spec: { resourceAttributes: Record<string, string> } }).spec
      .resourceAttributes;
    asked.push(`${verb} ${resource}`);
    return { status: { allowed: resource !== 'endpointslices' && allowsAll } };
  });
  let allowsAll: boolean | string = true;
  const ask = async () =>
    await askPermissions(
      cluster.api,
      planAnyTakeOver('shop', { choice: 'auto' }),
      mayDoEverything(cluster.api),
    );
  expect((await ask()).routes.map(({ lacking }) => lacking)).toEqual([[], []]);
  expect(asked).toEqual(['* *']);
  // First a garbled answer, then a refusal.
  for (const answer of ['perhaps', false]) {
    allowsAll = answer;
    asked.length = 0;
    await ask().catch(() => {});
    expect(asked.length).toBeGreaterThan(20);
  }
});

test('without webhook Services, only the Deployment is asked about', async () => {
  const asked: string[] = [];
  const cluster = fakeCluster((_method, _path, body) => {
    const { verb, resource } = (body as { spec: { resourceAttributes: Record<string, string> } }).spec
      .resourceAttributes;
    asked.push(`${verb} ${resource}`);
    return { status: { allowed: true } };
  });
  const target = { ...anyTarget('shop'), services: [] };
  const answer = await askPermissions(
    cluster.api,
    planTakeOver(target, { choice: 'auto' }, [deploymentPause.pause(target.manager)]),
  );
  expect(permittedRoutes(CLUSTER, answer)).toEqual([]);
  expect(asked.sort()).toEqual(['get deployments', 'list deployments', 'list pods', 'patch deployments']);
});

test('what only one route requires keeps no other route from being used, although every plan can use it', async () => {
  const cluster = fakeCluster((_method, _path, body) => {
    const { verb, resource, subresource } = (body as { spec: { resourceAttributes: Record<string, string> } })
      .spec.resourceAttributes;
    return { status: { allowed: `${verb} ${resource} ${subresource ?? ''}`.trim() !== 'get pods' } };
  });
  const all = await askPermissions(cluster.api, planAnyTakeOver('shop', { choice: 'auto' }));
  expect(all.lacking).toEqual([]);
  expect(all.routes.map(({ plan, lacking }) => [plan.name, lacking.length])).toEqual([
    ['direct', 0],
    ['relay', 1],
  ]);
});

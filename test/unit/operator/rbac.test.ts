import { expect, test } from 'vitest';
import { type Grant, grants } from '../../../src/operator/manifests/granting.ts';
import type { PolicyRule } from '../../../src/operator/manifests/rules.ts';
import { type ClusterGrant, clusterGrants } from '../../../src/operator/rbac/bound.ts';
import { missingRules, writtenRoles } from '../../../src/operator/rbac/missing.ts';
import { broadRules, unseenRules } from '../../../src/operator/rbac/unused.ts';
import type { Need } from '../../../src/report/rbac.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';
import { RBAC_CASES } from '../../support/rbac-cases.ts';

const ROLE = { kind: 'ClusterRole', name: 'manager-role' };
const DECLARED = { ...ROLE, file: 'config/rbac/role.yaml' };

test.each(RBAC_CASES)('RBAC: $about', ({ rule, namespace, access, isAllowed }) => {
  const grant = { role: ROLE, rules: [rule], ...(namespace && { namespace }) };
  expect(grants(grant, access)).toBe(isAllowed);
});

/** `get,list apps/deployments names` */
function rule(line: string): PolicyRule {
  const [verbs = '', what = '', names] = line.split(' ');
  const [group = '', resource = ''] = what.split(':');
  return {
    ...{ apiGroups: [group], resources: [resource], verbs: verbs.split(',') },
    ...(names && { resourceNames: names.split(',') }),
  };
}

function bound(...lines: string[]): ClusterGrant {
  return { role: ROLE, isOwn: true, rules: lines.map(rule) };
}

function declared(...lines: string[]): Grant {
  return { role: DECLARED, rules: lines.map(rule) };
}

/** `get :pods a` */
function need(line: string, more: Partial<Need> = {}): Need {
  const [verb = '', what = '', name = ''] = line.split(' ');
  const [group = '', resource = ''] = what.split(':');
  return { verb, group, resource, names: [name], calls: 1, refused: 0, ...more };
}

const hasOthers = false;

test('a rule is missing in the cluster, whether the checkout has it or not', () => {
  const needs = [need('list :pods'), need('watch :pods'), need('create :events'), need('get :secrets a')];
  const roles = { cluster: [bound('get :secrets')], checkout: [declared('list,watch :pods')], hasOthers };
  expect(missingRules(needs, roles)).toMatchObject([
    { group: '', resource: 'pods', verbs: ['list', 'watch'], cluster: 'missing', calls: 2 },
    { resource: 'events', verbs: ['create'], cluster: 'missing' },
    // Somebody has added this one in the cluster only.
    { resource: 'secrets', verbs: ['get'], cluster: 'granted', names: ['a'] },
  ]);
});

test('what nobody can say of a checkout is not said', () => {
  const needs = [need('get :secrets a')];
  const cluster = [bound('get :secrets')];
  expect(missingRules(needs, { cluster, checkout: [], hasOthers })).toEqual([]);
  expect(missingRules(needs, { cluster, checkout: [declared('get :pods')], hasOthers: true })).toEqual([]);
  const ofGroup = [{ ...bound('get :secrets'), isOwn: false }];
  expect(missingRules(needs, { cluster: ofGroup, checkout: [declared('get :pods')], hasOthers })).toEqual([]);
});

test('without the cluster, the checkout decides, and what every account may do counts', () => {
  const version: Need = { verb: 'get', path: '/version', names: [''], calls: 1, refused: 0 };
  const needs = [need('list :pods'), need('delete :pods a'), version];
  const roles = { checkout: [declared('list :pods')], hasOthers };
  expect(missingRules(needs, roles)).toMatchObject([
    { resource: 'pods', verbs: ['delete'], cluster: 'unknown' },
  ]);
});

test('a Role lacks what is needed elsewhere, and a name that it does not have', () => {
  const needs = [
    need('get :configmaps a', { namespace: 'one' }),
    need('get :configmaps a', { namespace: 'two' }),
    need('get :configmaps b', { namespace: 'one' }),
  ];
  const cluster = [{ ...bound('get :configmaps a'), namespace: 'one' }];
  expect(missingRules(needs, { cluster, checkout: [], hasOthers })).toMatchObject([
    { verbs: ['get'], namespaces: ['two', 'one'], names: ['a', 'b'] },
  ]);
});

test('an apply that was refused although it may patch was refused as a creation', () => {
  const refused = { refused: 2, calls: 3, mayCreate: true as const };
  const missing = (...allowed: string[]) =>
    missingRules([need('patch :services web', refused)], {
      cluster: [bound(...allowed)],
      checkout: [],
      hasOthers,
    });
  expect(missing()).toMatchObject([{ verbs: ['patch'], refused: 2 }]);
  expect(missing('patch :services')).toMatchObject([{ verbs: ['create'], refused: 2 }]);
  expect(missing('create,patch :services')).toEqual([]);
});

test('who writes roles is judged by what is in them, too', () => {
  const roles = (verb: string) => need(`${verb} rbac.authorization.k8s.io:roles`);
  expect(writtenRoles([roles('list'), need('create :pods')])).toEqual([]);
  expect(writtenRoles([roles('create'), roles('patch')])).toEqual(['roles']);
});

test('what no call used is not seen, in one line for the cluster and the checkout', () => {
  const needs = [need('get :pods a'), need('list apps:deployments')];
  const lines = [
    'get,delete :pods',
    'delete :services',
    'list,watch apps:deployments',
    'update apps:deployments/finalizers',
    'bind,escalate rbac.authorization.k8s.io:roles',
  ];
  expect(unseenRules(needs, [bound(...lines), declared(...lines, 'get :nodes')])).toEqual([
    {
      verbs: ['delete'],
      targets: [
        { group: '', resource: 'pods' },
        { group: '', resource: 'services' },
      ],
      roles: [ROLE, DECLARED],
    },
    { verbs: ['watch'], targets: [{ group: 'apps', resource: 'deployments' }], roles: [ROLE, DECLARED] },
    { verbs: ['get'], targets: [{ group: '', resource: 'nodes' }], roles: [DECLARED] },
  ]);
});

test('a name that can be among those that were not kept counts as used', () => {
  const rules = [bound('get :secrets a'), bound('get :secrets b')];
  expect(unseenRules([need('get :secrets a')], rules)).toMatchObject([{ names: ['b'] }]);
  expect(unseenRules([need('get :secrets a', { moreNames: true })], rules)).toEqual([]);
});

test('a wildcard of which little was used is broad, as is one for everything in a group, and another unused one is only not seen', () => {
  const needs = [need('get :pods a'), need('list :pods')];
  expect(broadRules(needs, [bound('* :*', '* apps:*', 'get batch:*')])).toEqual([
    {
      what: 'wildcard',
      rule: { apiGroups: [''], resources: ['*'], verbs: ['*'] },
      seen: [{ group: '', resource: 'pods', verbs: ['get', 'list'] }],
      roles: [ROLE],
    },
    {
      what: 'wildcard',
      rule: { apiGroups: ['apps'], resources: ['*'], verbs: ['*'] },
      seen: [],
      roles: [ROLE],
    },
  ]);
  expect(unseenRules(needs, [bound('* apps:*', 'get batch:*')])).toMatchObject([
    { targets: [{ group: 'batch', resource: '*' }], verbs: ['get'] },
  ]);
});

test('resourceNames are only a hint where nothing is listed or created', () => {
  const role = bound('get,update :secrets', 'get,list :configmaps', 'get :pods', 'update :pods/status');
  const needs = [
    need('get :secrets cert'),
    need('get :configmaps a'),
    need('list :configmaps'),
    ...['a', 'b', 'c', 'd'].map((name) => need(`get :pods ${name}`)),
    need('update :pods/status a'),
  ];
  expect(broadRules(needs, [role])).toMatchObject([
    { what: 'names', rule: { resources: ['secrets'], verbs: ['get', 'update'] }, names: ['cert'] },
  ]);
});

test('the roles of an account are those bound to it, to its name as a user, and to its groups', async () => {
  const cluster = fakeCluster();
  const role = (kind: 'Role' | 'ClusterRole', name: string, namespace?: string) =>
    cluster.put(kind, {
      metadata: { name, ...(namespace && { namespace }) },
      rules: [rule(`get :${name}`)],
    } as never);
  const bind = (name: string, subject: object, to: object, namespace?: string) =>
    cluster.put(namespace ? 'RoleBinding' : 'ClusterRoleBinding', {
      metadata: { name, ...(namespace && { namespace }) },
      subjects: [subject],
      roleRef: to,
    } as never);
  for (const name of ['pods', 'nodes', 'secrets', 'services']) role('ClusterRole', name);
  role('Role', 'leases', 'shop');
  const account = { kind: 'ServiceAccount', name: 'manager' };
  const clusterRole = (name: string) => ({ kind: 'ClusterRole', name });
  bind('a', { ...account, namespace: 'shop' }, clusterRole('pods'));
  bind('b', account, { kind: 'Role', name: 'leases' }, 'shop');
  bind('c', { kind: 'Group', name: 'system:serviceaccounts:shop' }, clusterRole('nodes'));
  bind('d', { kind: 'User', name: 'system:serviceaccount:shop:manager' }, clusterRole('secrets'), 'other');
  bind('e', { ...account, namespace: 'other' }, clusterRole('services'));
  bind('f', { ...account, namespace: 'shop' }, clusterRole('gone'));
  const found = await clusterGrants(cluster.api, { namespace: 'shop', name: 'manager' });
  expect(found.map(({ role: { name }, isOwn, namespace }) => [name, isOwn, namespace]).sort()).toEqual([
    ['leases', true, 'shop'],
    ['nodes', false, undefined],
    ['pods', true, undefined],
    ['secrets', true, 'other'],
  ]);
});

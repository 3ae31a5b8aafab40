import { expect, it } from 'vitest';
import { compareManifests } from '../../../src/operator/manifests/compare.ts';
import { readManifests } from '../../../src/operator/manifests/read.ts';
import { manifestText } from '../../../src/report/manifest.ts';
import { manifestFindings } from '../../../src/session/doctor/manifests.ts';
import { type FakeCluster, refusal } from '../../support/fake-cluster.ts';
import { clusterWithTable } from '../../support/operators.ts';
import { directoryWith } from '../controller/support/places.ts';

const crd = (schema: string, name = 'orders.shop.example.com') => `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${name}}
spec:
  group: shop.example.com
  scope: Namespaced
  names: {kind: Order, plural: orders}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{name: Age, type: date, jsonPath: .metadata.creationTimestamp}]
    schema:
      openAPIV3Schema:
        description: here
        type: object
        properties: {spec: {type: object, properties: ${schema}}}
`;
const SCHEMA =
  '{size: {type: integer, minimum: 1}, ports: {type: array, items: {type: object, properties: {name: {type: string}}}}}';
const role = (kind: string, verbs: string) =>
  `kind: ${kind}\nmetadata: {name: manager-role}\nrules:\n- apiGroups: ['']\n  resources: [pods, secrets]\n  verbs: [${verbs}]\n`;
const hooks = (webhook: string) =>
  `kind: ValidatingWebhookConfiguration\nmetadata: {name: validating-webhook-configuration}\nwebhooks:\n- name: v.example.com\n  clientConfig: {service: {name: webhook-service, namespace: system, path: /validate}}\n  rules: [{apiGroups: [a], apiVersions: [v1], resources: [b], operations: [CREATE]}]\n${webhook}`;
const ROOT = '/nowhere';
const PREFIX = 'namePrefix: shop-\n';
const GROUPS = new Set(['shop.example.com']);

/** The checkout's objects as a cluster has them after `make deploy`: renamed, with defaults and injected fields. */
async function deployed(files: Record<string, string>, mark = {}): Promise<FakeCluster> {
  const cluster = clusterWithTable();
  const { manifests } = await readManifests(await directoryWith(files));
  for (const { kind, object } of structuredClone(manifests)) {
    const { metadata } = object;
    if (kind !== 'CustomResourceDefinition') metadata.name = `shop-${metadata.name}`;
    if (kind === 'Role') metadata.namespace = 'shop-system';
    Object.assign(metadata, mark);
    for (const webhook of object.webhooks ?? []) {
      webhook.clientConfig = {
        caBundle: 'x',
        service: { ...webhook.clientConfig.service!, ...SERVICE, port: 443 },
      };
      Object.assign(webhook, { timeoutSeconds: 10, matchPolicy: 'Equivalent', failurePolicy: 'Fail' });
      Object.assign(webhook, { namespaceSelector: {}, objectSelector: {} });
      for (const rule of webhook.rules!) Object.assign(rule, { scope: '*' });
    }
    cluster.put(kind, object);
  }
  return cluster;
}

const SERVICE = { name: 'shop-webhook-service', namespace: 'shop-system' };
const TARGET = { namespace: 'shop-system', services: [{ service: { metadata: SERVICE, spec: {} } }] };

async function compared(cluster: FakeCluster, files: Record<string, string>): Promise<string[]> {
  const root = await directoryWith(files);
  const { compared } = await compareManifests({ api: cluster.api, root, groups: GROUPS, target: TARGET });
  return compared.filter(({ is }) => is !== 'same').map(manifestText);
}

const FILES = {
  'config/crd/bases/orders.yaml': crd(SCHEMA),
  'config/rbac/role.yaml': `${role('ClusterRole', 'get, list')}---\n${role('Role', 'get')}`,
  'config/webhook/manifests.yaml': hooks(''),
  'config/default/kustomization.yaml': PREFIX,
};

it('finds no difference between a checkout and what it deployed', async () => {
  const cluster = await deployed(FILES);
  expect(await compared(cluster, FILES)).toEqual([]);
  const root = await directoryWith(FILES);
  const comparison = await compareManifests({ api: cluster.api, root, groups: GROUPS, target: TARGET });
  expect(comparison.compared).toHaveLength(4);
  expect(await manifestFindings({ root: ROOT, cwd: ROOT }, comparison)).toMatchObject({
    verdict: 'ok',
    proof: expect.any(Array),
  });
});

it.each([
  [
    'a new field',
    'config/crd/bases/orders.yaml',
    crd(SCHEMA.replace('{size', '{colour: {type: string}, size')),
    'spec.colour is only here',
  ],
  [
    'a field that is gone',
    'config/crd/bases/orders.yaml',
    crd('{size: {type: integer, minimum: 1}}'),
    'spec.ports is only in the cluster',
  ],
  [
    'a new rule for a field',
    'config/crd/bases/orders.yaml',
    crd(SCHEMA.replace('minimum: 1', 'minimum: 2')),
    'spec.size is different',
  ],
  [
    'a field of a list',
    'config/crd/bases/orders.yaml',
    crd(SCHEMA.replace('{name:', '{port: {type: string}, name:')),
    'spec.ports[].port is only here',
  ],
  [
    'a version',
    'config/crd/bases/orders.yaml',
    crd(SCHEMA).replace('name: v1', 'name: v2'),
    'version v2 is only here; version v1 is only in the cluster',
  ],
  [
    'a verb',
    'config/rbac/role.yaml',
    role('ClusterRole', 'get, list, watch'),
    'watch pods is only here; watch secrets is only here',
  ],
  [
    'a verb less',
    'config/rbac/role.yaml',
    role('ClusterRole', 'get'),
    'list pods is only in the cluster; list secrets is only in the cluster',
  ],
  [
    'an operation',
    'config/webhook/manifests.yaml',
    hooks('').replace('[CREATE]', '[CREATE, DELETE]'),
    'v.example.com.rules is different',
  ],
  [
    'a policy',
    'config/webhook/manifests.yaml',
    hooks('  failurePolicy: Ignore\n'),
    'v.example.com.failurePolicy is different',
  ],
  [
    'a path',
    'config/webhook/manifests.yaml',
    hooks('').replace('/validate', '/other'),
    'v.example.com.path is different',
  ],
  [
    'another webhook',
    'config/webhook/manifests.yaml',
    hooks('').replace('v.example', 'w.example'),
    'w.example.com is only here; v.example.com is only in the cluster',
  ],
])('says what differs: %s', async (_, file, text, difference) => {
  const cluster = await deployed(FILES);
  const said = await compared(cluster, { ...FILES, [file]: text });
  expect(said).toHaveLength(1);
  expect(said[0]).toContain(file);
  expect(said[0]).toContain(difference);
});

it('does not count what changes no behaviour, or what kustomize adds', async () => {
  const cluster = await deployed({
    ...FILES,
    'config/crd/bases/orders.yaml': crd(SCHEMA).replace('here', 'there'),
  });
  const rules =
    'rules:\n- apiGroups: [""]\n  resources: [secrets]\n  verbs: [list, get]\n- apiGroups: [""]\n  resources: [pods]\n  verbs: [get, list]\n';
  const other = `kind: ClusterRole\nmetadata: {name: manager-role}\n${rules}`;
  expect(await compared(cluster, { ...FILES, 'config/rbac/role.yaml': other })).toEqual([]);
});

it('reports CRDs that only one side has', async () => {
  const cluster = await deployed(FILES);
  const bills = crd(SCHEMA, 'bills.shop.example.com');
  const { 'config/crd/bases/orders.yaml': _, ...rest } = FILES;
  expect(await compared(cluster, { ...rest, 'config/crd/bases/bills.yaml': bills })).toEqual([
    expect.stringMatching(
      / bills\.shop\.example\.com \(config\/crd\/bases\/bills\.yaml\) .*not in the cluster$/,
    ),
    expect.stringMatching(/ orders\.shop\.example\.com .*not in this checkout$/),
  ]);
});

const applied = (files: Record<string, string>, mark: object = APPLIED) => deployed(files, mark);
const APPLIED = { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}' } };
const RBAC = (...names: string[]) => `resources:\n${names.map((name) => `- ${name}.yaml\n`).join('')}`;
const ADDED = role('Role', 'get').replace('manager-role', 'election-role');
const WITH_ADDED = {
  ...FILES,
  'config/rbac/election.yaml': ADDED,
  'config/rbac/kustomization.yaml': RBAC('role', 'election'),
};
const NOT_THERE = (name: string, file: string) =>
  `${name} (${file}) is not in the cluster; it is created when this project is deployed (usually with: make deploy)`;

it.each([
  [
    'a role in the same file',
    { ...FILES, 'config/rbac/role.yaml': `${FILES['config/rbac/role.yaml']}---\n${ADDED}` },
    NOT_THERE('Role election-role', 'config/rbac/role.yaml'),
  ],
  [
    'a role in the same kustomization',
    WITH_ADDED,
    NOT_THERE('Role election-role', 'config/rbac/election.yaml'),
  ],
  [
    'a configuration',
    {
      ...FILES,
      'config/webhook/manifests.yaml': `${hooks('')}---\n${hooks('').replace('Validating', 'Mutating').replace('validating', 'mutating')}`,
    },
    NOT_THERE('MutatingWebhookConfiguration mutating-webhook-configuration', 'config/webhook/manifests.yaml'),
  ],
])('reports what is missing: %s', async (_, files, line) => {
  expect(await compared(await applied(FILES), files)).toEqual([line]);
});

it.each([
  ['its kustomization does not list it', { 'config/rbac/kustomization.yaml': RBAC('role') }],
  [
    'its line is a comment',
    { 'config/rbac/kustomization.yaml': RBAC('role', 'election').replace('- e', '#- e') },
  ],
  ['there is no kustomization', { 'config/rbac/kustomization.yaml': '' }],
  ['another kustomization has only the others', { 'config/small/kustomization.yaml': RBAC('../rbac/role') }],
  ['a patch deletes something', { 'config/default/patch.yaml': 'kind: Role\n$patch: delete\n' }],
])('reports no role as missing if %s', async (_, change) => {
  expect(await compared(await applied(FILES), { ...WITH_ADDED, ...change })).toEqual([]);
});

it.each([
  ['nothing says that the others were applied', {}],
  [
    'the others are of a chart',
    { annotations: { ...APPLIED.annotations, 'meta.helm.sh/release-name': 'shop' } },
  ],
])('reports no role as missing if %s', async (_, metadata) => {
  expect(await compared(await applied(FILES, metadata), WITH_ADDED)).toEqual([]);
});

it('reports no configuration as missing that does not call this operator, and no role if only names of others fit', async () => {
  const cluster = await applied(FILES);
  const kind = 'MutatingWebhookConfiguration';
  cluster.put(kind, { metadata: { name: 'other-mutating-webhook-configuration' }, webhooks: [] } as never);
  const mutating = hooks('').replace('Validating', 'Mutating').replace('validating', 'mutating');
  const files = { ...FILES, 'config/webhook/manifests.yaml': `${hooks('')}---\n${mutating}` };
  expect(await compared(cluster, files)).toEqual([]);
  const others = clusterWithTable();
  others.put('ClusterRole', { metadata: { name: 'manager-role', ...APPLIED }, rules: [] } as never);
  const said = await compared(others, WITH_ADDED);
  expect(said.filter((one) => one.includes('Role ') && one.includes('is not in'))).toEqual([]);
});

it('compares an object once, although the checkout also contains what kustomize has built', async () => {
  const cluster = await applied(FILES);
  const built = role('ClusterRole', 'get').replace('manager-role', 'shop-manager-role');
  expect(await compared(cluster, { ...FILES, 'install/all.yaml': built })).toEqual([]);
});

it('compares what controller-gen writes, not a copy of it, nothing of other operators, and no template', async () => {
  const cluster = await deployed(FILES);
  const old = crd('{old: {type: string}}');
  const other = crd(SCHEMA, 'widgets.other.example.com');
  const files = { ...FILES, 'charts/crds/a.yaml': old, 'config/external/x.yaml': other };
  expect(await compared(cluster, files)).toEqual([]);
  const chart = await directoryWith({ 'chart/templates/crd.yaml': `${crd(SCHEMA)}{{ .Values.x }}` });
  const comparison = await compareManifests({
    api: cluster.api,
    root: chart,
    groups: GROUPS,
    target: TARGET,
  });
  expect(await manifestFindings({ root: ROOT, cwd: ROOT }, comparison)).toMatchObject({
    verdict: 'unknown',
    proof: ['chart/templates/crd.yaml'],
  });
});

it('doctor names the command that applies CRDs only for CRDs, and none for what is only in the cluster', async () => {
  const root = await directoryWith({ Makefile: 'install:\n' });
  const found = (kind: string, is: 'different' | 'missing' | 'extra') => ({
    object: { kind, name: 'x' },
    is,
    differences: [],
  });
  const crd = 'CustomResourceDefinition';
  const compared = [
    found(crd, 'different'),
    found(crd, 'missing'),
    found('ClusterRole', 'different'),
    found(crd, 'extra'),
  ];
  expect(await manifestFindings({ root, cwd: root }, { compared, templates: [] })).toEqual([
    expect.objectContaining({ hint: 'make install' }),
    expect.objectContaining({ hint: 'make install' }),
    expect.objectContaining({ hint: expect.stringContaining('make deploy') }),
    expect.not.objectContaining({ hint: expect.anything() }),
  ]);
});

it('leaves out what the account is not allowed to read', async () => {
  const cluster = await deployed(FILES);
  cluster.hook.before = () => {
    throw refusal(403, 'Forbidden');
  };
  expect(await compared(cluster, FILES)).toEqual([]);
});

it.each([
  [
    'a role without verbs',
    'config/rbac/other.yaml',
    'kind: ClusterRole\nmetadata: {name: x}\nrules:\n- apiGroups: [a]\n',
  ],
  [
    'a role whose verbs are no list',
    'config/rbac/other.yaml',
    'kind: Role\nmetadata: {name: x}\nrules:\n- verbs: get\n',
  ],
  ['an empty rule', 'config/rbac/other.yaml', 'kind: ClusterRole\nmetadata: {name: x}\nrules:\n-\n'],
  [
    'a webhook without clientConfig',
    'config/webhook/other.yaml',
    'kind: ValidatingWebhookConfiguration\nmetadata: {name: x}\nwebhooks:\n- name: v.example.com\n',
  ],
  [
    'a patch of a CRD',
    'config/patches/ca.yaml',
    'kind: CustomResourceDefinition\nmetadata: {name: bills.shop.example.com, annotations: {a: b}}\n',
  ],
  ['an alias of nothing', 'config/rbac/other.yaml', 'kind: Role\nmetadata: {name: x}\nrules: *gone\n'],
])('passes over what is no complete object: %s', async (_, file, text) => {
  const cluster = await deployed(FILES);
  for (const kind of [
    'ClusterRole',
    'Role',
    'ValidatingWebhookConfiguration',
    'CustomResourceDefinition',
  ] as const) {
    const name = kind === 'CustomResourceDefinition' ? 'bills.shop.example.com' : 'shop-x';
    const clientConfig = { service: { ...SERVICE, path: '/x' } };
    const metadata = { name, ...(kind === 'Role' ? { namespace: 'shop-system' } : {}) };
    cluster.put(kind, { metadata, spec: {}, rules: [], webhooks: [{ name: 'v.example.com', clientConfig }] });
  }
  const said = await compared(cluster, { ...FILES, [file]: text });
  expect(said.filter((one) => one.includes(file))).toEqual([]);
});

it.each([
  [
    'a patch of kustomize',
    hooks('').replace(/ {2}clientConfig.*\n {2}rules.*\n/, '  namespaceSelector: {}\n'),
  ],
  [
    'half a webhook',
    'kind: ValidatingWebhookConfiguration\nmetadata: {name: validating-webhook-configuration}\nwebhooks:\n',
  ],
  ['a patch of a CRD', crd(SCHEMA).replace(/ {2}versions:[\s\S]*/, '  conversion: {strategy: Webhook}\n')],
  ['half a role', 'kind: ClusterRole\nmetadata: {name: manager-role}\nrules:\n- verbs: get\n'],
  [
    'aliases without measure',
    `kind: ClusterRole\nmetadata: {name: manager-role}\na: &a [1, 1, 1, 1]\n${bomb()}rules: []\n`,
  ],
])('%s is no object to compare', async (_, text) => {
  const cluster = await deployed(FILES);
  expect(await compared(cluster, { ...FILES, 'config/a/first.yaml': text })).toEqual([]);
});

function bomb(): string {
  return [...'bcdefgh']
    .map((name, index) => `${name}: &${name} [${`*${'abcdefgh'[index]}, `.repeat(9)}1]\n`)
    .join('');
}

it('a role with more permissions than can be compared is left out', async () => {
  const cluster = await deployed(FILES);
  const many = Array.from({ length: 1_500 }, (_, index) => `g${index}`).join(', ');
  const huge = `kind: ClusterRole\nmetadata: {name: manager-role}\nrules:\n- apiGroups: [${many}]\n  resources: [${many}]\n  verbs: [get]\n`;
  expect(await compared(cluster, { ...FILES, 'config/rbac/role.yaml': huge })).toEqual([]);
});

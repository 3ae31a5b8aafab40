/** What the controller's calls need, compared with its roles in the cluster and in the checkout, and with what kube-apiserver itself says. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { DevloopEvent } from '../../src/report/events.ts';
import type { TestCluster } from '../cluster/cluster.ts';
import type { Rule } from '../support/account.ts';
import { runDevloop, startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { RBAC_CASES } from '../support/rbac-cases.ts';
import { application, type Checkout, checkoutSample, NAMESPACE } from '../support/sample-operator.ts';
import { sharedSample } from '../support/shared-sample.ts';

type Of<Type extends DevloopEvent['type']> = Extract<DevloopEvent, { type: Type }>;

const BUILT_MS = 240_000;
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const NAME = 'application-operator-manager-role';
const ROLE = `${RBAC}/clusterroles/${NAME}`;
const FILE = 'config/rbac/role.yaml';

let cluster: TestCluster;
let checkout: Checkout;

beforeAll(async () => {
  [cluster, checkout] = await Promise.all([sharedSample(), checkoutSample()]);
});

afterAll(() => checkout?.[Symbol.asyncDispose]());

it('decides as kube-apiserver does', async () => {
  const objects = RBAC_CASES.flatMap(({ rule, namespace }, at) => {
    const metadata = { name: `case-${at}`, ...(namespace && { namespace }) };
    const kind = namespace ? 'Role' : 'ClusterRole';
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind, name: metadata.name };
    const subjects = [{ kind: 'ServiceAccount', namespace: 'default', name: metadata.name }];
    const apiVersion = 'rbac.authorization.k8s.io/v1';
    return [
      { apiVersion, kind, metadata, rules: [rule] },
      { apiVersion, kind: `${kind}Binding`, metadata, roleRef, subjects },
    ];
  });
  await cluster.apply(objects);
  const decide = async (at: number): Promise<boolean> => {
    const { verb, group, resource = '', path, namespace, name } = RBAC_CASES[at]!.access;
    const [plural, subresource] = resource.split('/');
    const spec =
      path === undefined
        ? { resourceAttributes: { verb, group, resource: plural, subresource, namespace, name } }
        : { nonResourceAttributes: { verb, path } };
    const user = `system:serviceaccount:default:case-${at}`;
    const answer = await cluster.call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      ...{ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' },
      spec: { user, ...spec },
    });
    return (answer as { status: { allowed: boolean } }).status.allowed;
  };
  // The authorizer learns of bindings a moment later.
  await eventually(async () => {
    const decided = await Promise.all(RBAC_CASES.map((one, at) => decide(at).then((is) => [one.about, is])));
    expect(decided).toEqual(RBAC_CASES.map(({ about, isAllowed }) => [about, isAllowed]));
  });
});

it('names the rules that are missing, although nothing is refused', async () => {
  const { rules } = (await cluster.call('GET', ROLE)) as { rules: Rule[] };
  await using _ = { [Symbol.asyncDispose]: () => setRules(rules) };
  // The rule for Deployments is not applied, and nobody has written one for Events.
  const isThere = ({ resources }: Rule): boolean => !['deployments', 'events'].includes(resources[0]!);
  await setRules(rules.filter(isThere));
  const file = join(checkout.directory, FILE);
  const declared = await readFile(file, 'utf8');
  const withoutEvents = declared.replace(/- apiGroups:\n {2}- events\.k8s\.io\n(?: {2}.*\n)+/, '');
  expect(withoutEvents).not.toBe(declared);
  await writeFile(file, withoutEvents);
  const here = { cwd: checkout.directory, env: { KUBECONFIG: cluster.kubeconfig } };
  await using up = startDevloop(['up', '--identity', 'me'], here);
  await up.waitFor('session.ready', undefined, BUILT_MS);
  await cluster.kubectl(['apply', '-f', '-'], { input: application('needing', 'example.com/shop:1') });
  await up.waitFor('reconcile', ({ name, calls }) => name === 'needing' && calls.length > 0);
  // Another terminal, without the kubeconfig.
  const terminal = { cwd: checkout.directory, env: { KUBECONFIG: '' } };
  const events = await eventually(async () => {
    const { code, events: all } = await runDevloop(['rbac'], terminal);
    expect(code).toBe(0);
    // Events are sent a moment later.
    expect(of(all, 'rbac.missing')).toHaveLength(2);
    return all;
  });
  const missing = of(events, 'rbac.missing');
  const marker = (what: string): unknown => expect.stringContaining(`// +kubebuilder:rbac:${what},verbs=`);
  expect(missing.find(({ resource }) => resource === 'deployments')).toMatchObject({
    ...{ group: 'apps', verbs: ['list', 'watch', 'create'], cluster: 'missing', refused: 0 },
    cure: {
      ...{ file: FILE, marker: marker('groups=apps,resources=deployments') },
      command: expect.stringContaining(`patch clusterrole ${NAME} --type=json`),
    },
  });
  const ofEvents = missing.find(({ resource }) => resource === 'events');
  expect(ofEvents).toMatchObject({
    ...{ group: 'events.k8s.io', verbs: ['create'], cluster: 'missing', namespaces: ['default'] },
    cure: { marker: marker('groups=events.k8s.io,resources=events') },
  });
  expect(ofEvents!.cure).not.toHaveProperty('file');
  expect(of(events, 'rbac.compared')).toMatchObject([
    {
      account: { namespace: NAMESPACE, name: 'application-operator-controller-manager' },
      cluster: expect.arrayContaining([{ kind: 'ClusterRole', name: NAME }]),
      checkout: expect.arrayContaining([{ kind: 'ClusterRole', name: 'manager-role', file: FILE }]),
      missing: missing.length,
    },
  ]);
  // Nothing was deleted in this session, and nobody calls what an admission plugin asks for.
  const unseen = of(events, 'rbac.unseen').flatMap(({ targets, verbs, roles }) =>
    targets.map(({ resource }) => [resource, verbs, roles.length]),
  );
  expect(unseen).toContainEqual(['deployments', ['get', 'update', 'patch', 'delete'], 1]);
  expect(unseen).toContainEqual(['applications', ['get', 'update'], 2]);
  expect(unseen.map(([resource]) => resource)).not.toContain('applications/finalizers');
  up.signal('SIGINT');
  expect(await up.exited, up.log()).toBe(130);
});

async function setRules(rules: Rule[]): Promise<void> {
  const { metadata } = (await cluster.call('GET', ROLE)) as { metadata: object };
  await cluster.call('PUT', ROLE, {
    ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata, rules },
  });
}

function of<Type extends DevloopEvent['type']>(events: DevloopEvent[], type: Type): Of<Type>[] {
  return events.filter((one): one is Of<Type> => one.type === type);
}

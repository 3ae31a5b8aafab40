import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { kubeconfigOf } from '../../../src/cluster/api/kubeconfig.ts';
import { listenOn } from '../../../src/machine/port.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { thisMachine } from '../../../src/session/context/local-machine.ts';
import { claimDirectory } from '../../../src/session/context/session-directories.ts';
import { rbac } from '../../../src/session/rbac.ts';

const API = 'rbac.authorization.k8s.io/v1';
const ROLE = `apiVersion: ${API}
kind: ClusterRole
metadata: {name: manager-role}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: ${API}
kind: ClusterRoleBinding
metadata: {name: manager}
roleRef: {kind: ClusterRole, name: manager-role}
subjects: [{kind: ServiceAccount, name: manager, namespace: shop}]
`;
const NEEDS = ['get', 'delete'].map((verb) => ({
  ...{ verb, group: '', resource: 'pods', namespace: 'shop', names: ['a'], calls: 1, refused: 0 },
}));

/** What `rbac` says about a session whose API server answers with this status, and at this address later. */
async function compared(
  status: number,
  { files = { 'config/rbac/all.yaml': ROLE }, needs = {}, later = '' } = {},
) {
  const root = await mkdtemp(join(tmpdir(), 'devloop-rbac-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries({ 'go.mod': 'module shop\n', ...files })) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
  const server = createServer(({ url = '' }, response) => {
    const isAboutRoles = url.includes(API);
    const code = !isAboutRoles ? 200 : url.includes('/clusterroles/') ? 404 : status;
    response.writeHead(code, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ message: 'ann cannot list', reason: 'NotFound', items: [] }));
  });
  await listenOn(server, { port: 0, host: '127.0.0.1' });
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const kubeconfig = join(root, 'kubeconfig');
  await writeFile(kubeconfig, JSON.stringify(kubeconfigOf('dev', { server: url }, {})));
  const env = { XDG_STATE_HOME: join(root, 'state'), HOME: root };
  const directory = await claimDirectory(await thisMachine(env), '0a1b2c3d', { checkout: root });
  const kept = {
    ...{ v: 1, since: '2026-11-29T00:00:00.000Z', namespace: 'shop', calls: 2, needs: NEEDS },
    account: { namespace: 'shop', name: 'manager' },
    cluster: { context: 'dev', server: later || url, kubeconfig: [kubeconfig] },
    ...needs,
  };
  await writeFile(join(directory, 'needs.json'), JSON.stringify(kept));
  const events: DevloopEvent[] = [];
  const { signal } = new AbortController();
  await rbac({}, { emit: (event) => void events.push(event), env, cwd: root, signal });
  return events.filter(({ type }) => type !== 'rbac.unseen' && type !== 'rbac.broad');
}

const UNKNOWN = {
  ...{ type: 'rbac.missing', resource: 'pods', verbs: ['delete'], cluster: 'unknown' },
  cure: { marker: '// +kubebuilder:rbac:groups="",resources=pods,verbs=delete' },
};

test('whose account may not read roles still hears what the checkout lacks', async () => {
  expect(await compared(403)).toMatchObject([
    { code: 'rbac.cluster-not-read', values: { cause: expect.stringContaining('ann cannot list') } },
    { type: 'rbac.compared', calls: 2, missing: 1 },
    UNKNOWN,
  ]);
});

test('another cluster under the same name is not the one of the session', async () => {
  expect(await compared(200, { later: 'https://before' })).toMatchObject([
    { code: 'rbac.cluster-not-read', values: { cause: expect.stringContaining('https://before') } },
    { type: 'rbac.compared' },
    UNKNOWN,
  ]);
});

test('an account without any role lacks everything, and a checkout without one is no help', async () => {
  expect(await compared(200, { files: {} as never })).toMatchObject([
    { code: 'rbac.no-checkout-roles', values: { templates: [] } },
    { type: 'rbac.compared', cluster: [], checkout: [], missing: 1 },
    {
      ...{
        type: 'rbac.missing',
        verbs: ['get', 'delete'],
        cluster: 'missing',
        namespaces: ['shop'],
        names: ['a'],
      },
      cure: { yaml: '- {apiGroups: [""], resources: [pods], verbs: [get, delete]}' },
    },
  ]);
});

test('a binding that nobody can read is no role of the controller', async () => {
  const broken =
    'kind: RoleBinding\nmetadata: {name: *x}\nsubjects: [{kind: ServiceAccount}]\n---\nkind: RoleBinding\n';
  const files = { 'config/rbac/all.yaml': ROLE, 'config/rbac/broken.yaml': broken };
  expect(await compared(403, { files })).toContainEqual(
    expect.objectContaining({
      type: 'rbac.compared',
      checkout: [expect.objectContaining({ name: 'manager-role' })],
    }),
  );
});

test('roles that the checkout gives to another account are not of the controller, unless it names none like its own', async () => {
  const others = ROLE.replaceAll('manager', 'prometheus');
  const files = { 'config/rbac/all.yaml': ROLE, 'config/prometheus/all.yaml': others };
  const rolesOf = async (name: string): Promise<string[]> => {
    const events = await compared(403, { files, needs: { account: { namespace: 'shop', name } } });
    const found = events.find(({ type }) => type === 'rbac.compared') as { checkout: { name: string }[] };
    return found.checkout.map((one) => one.name).sort();
  };
  for (const name of ['manager', 'shop-manager', 'manager-v2'])
    expect(await rolesOf(name)).toEqual(['manager-role']);
  expect(await rolesOf('controller')).toEqual(['manager-role', 'prometheus-role']);
});

test('what was cut is said, and a session without calls has nothing to compare', async () => {
  const cut = await compared(200, { needs: { cut: ['namespaces'] } });
  expect(cut[0]).toMatchObject({ code: 'rbac.cut', values: { what: 'namespaces' } });
  expect(await compared(200, { needs: { calls: 0 } })).toMatchObject([{ code: 'rbac.none' }]);
});

test('templates of charts are not read, which is said if they have roles', async () => {
  const files = { 'config/rbac/all.yaml': ROLE, 'chart/templates/role.yaml': `${ROLE}# {{ .Values.x }}` };
  const told = (events: DevloopEvent[]) =>
    events.filter((event) => event.type === 'note' && event.code === 'rbac.templates-not-read');
  const values = { templates: ['chart/templates/role.yaml'] };
  expect(told(await compared(403, { files }))).toMatchObject([{ values }]);
  const crd = {
    'config/rbac/all.yaml': ROLE,
    'chart/templates/crd.yaml': 'kind: CustomResourceDefinition\n# {{ x }}',
  };
  expect(told(await compared(403, { files: crd as never }))).toEqual([]);
});

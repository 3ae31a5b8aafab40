import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import type { ForwardedRequest } from '../../../src/cluster/api/pass-on.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { noticeForbidden } from '../../../src/session/start/forbidden.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';

const ACCOUNT = 'system:serviceaccount:shop:manager';
const API = 'rbac.authorization.k8s.io/v1';
const ROLE = `apiVersion: ${API}
kind: ClusterRole
metadata: {name: manager-role}
rules:
- {apiGroups: [apps], resources: [deployments], verbs: [get, list, watch]}
`;
const PEOPLE = ROLE.replace('manager-role', 'admin-role').replace(
  /- .*/,
  '- {apiGroups: ["*"], resources: ["*"], verbs: ["*"]}',
);
const BINDING = `apiVersion: ${API}
kind: ClusterRoleBinding
metadata: {name: manager-rolebinding}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: manager-role}
subjects: [{kind: ServiceAccount, name: manager, namespace: system}]
`;
const FILES = {
  'go.mod': 'module shop\n',
  'config/rbac/role.yaml': ROLE,
  'config/rbac/people.yaml': PEOPLE,
  'config/rbac/role_binding.yaml': BINDING,
  'config/default/kustomization.yaml': 'namePrefix: shop-\nresources: [../rbac]\n',
};

/** An API server that refuses everything, RBAC only what is not in `allowed`. */
async function controller(
  allowed: string[] = [],
  files: Record<string, string> = FILES,
  account: string | null = ACCOUNT,
) {
  const root = await mkdtemp(join(tmpdir(), 'devloop-forbidden-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
  const events: DevloopEvent[] = [];
  const cluster = fakeCluster();
  cluster.put('ClusterRole', { metadata: { name: 'shop-manager-role' } });
  const asked: string[] = [];
  const answer = (statusCode: number, body: object): IncomingMessage =>
    Object.assign(Readable.from([JSON.stringify(body)]) as IncomingMessage, { statusCode, headers: {} });
  const forward = async ({ path, body }: ForwardedRequest): Promise<IncomingMessage> => {
    if (!path.endsWith('/selfsubjectaccessreviews')) return answer(403, { kind: 'Status' });
    const { verb } = JSON.parse(String(body)).spec.resourceAttributes;
    // The first answer is the slowest, as that of an API server that has just been busy.
    if (asked.push(verb) === 1) await new Promise((resolve) => setTimeout(resolve, 50));
    return answer(201, { status: { allowed: allowed.includes(verb) } });
  };
  const upstream = { forward, forwardUpgrade: async () => ({ answer: answer(403, {}) }) };
  const { signal } = new AbortController();
  const emit = (event: DevloopEvent): void => void events.push(event);
  const proxied = noticeForbidden(
    { upstream, username: () => account ?? undefined },
    { root, isGo: 'go.mod' in files, env: {}, api: cluster.api, emit, signal },
  );
  return {
    ...{ events, asked },
    async call(method: string, path: string, headers = {}) {
      const sent = { method, path, headers, body: Buffer.alloc(0), signal };
      expect((await proxied.forward(sent)).statusCode).toBe(403);
    },
  };
}

const values = (events: DevloopEvent[]) => events.map((event) => ('values' in event ? event.values : event));

test('a cache that may not list learns the marker for both verbs, and where the rule would be applied', async () => {
  const { call, events } = await controller();
  await call('GET', '/api/v1/namespaces/shop/configmaps?limit=500');
  await expect.poll(() => events).toHaveLength(1);
  expect(values(events)).toMatchObject([
    {
      ...{ verbs: ['list', 'watch'], group: '', resource: 'configmaps', namespace: 'shop', account: ACCOUNT },
      ...{ marker: '// +kubebuilder:rbac:groups="",resources=configmaps,verbs=list;watch', times: 1 },
      command: expect.stringContaining('patch clusterrole shop-manager-role --type=json'),
    },
  ]);
  expect(values(events)[0]).not.toHaveProperty('file');
});

test('a rule that the checkout has is only to be applied', async () => {
  const { call, events } = await controller();
  await call('GET', '/apis/apps/v1/deployments?watch=true');
  await expect.poll(() => values(events)).toMatchObject([{ file: 'config/rbac/role.yaml' }]);
});

test('a rule that the checkout gives only to another account is not the rule of the controller', async () => {
  const others = [ROLE.replace('apps', '""').replace('deployments', 'configmaps'), BINDING].join('---\n');
  const { call, events } = await controller([], {
    ...FILES,
    'config/prometheus/all.yaml': others.replaceAll('manager', 'prometheus'),
  });
  await call('GET', '/api/v1/namespaces/shop/configmaps');
  await expect.poll(() => events).toHaveLength(1);
  expect(values(events)[0]).not.toHaveProperty('file');
});

test('a loop says it at the first and the tenth time', async () => {
  const { call, events, asked } = await controller();
  for (let count = 0; count < 25; count++)
    await call('PUT', '/apis/apps/v1/namespaces/a/deployments/web/status');
  await expect.poll(() => events).toHaveLength(2);
  expect(values(events)).toMatchObject([
    { resource: 'deployments/status', name: 'web', times: 1 },
    { resource: 'deployments/status', times: 10 },
  ]);
  expect(asked).toHaveLength(4);
});

test('what an apply lacks is only what RBAC refuses', async () => {
  const { call, events } = await controller(['patch']);
  await call('PATCH', '/api/v1/namespaces/a/services/web', {
    'content-type': 'application/apply-patch+yaml',
  });
  await expect.poll(() => values(events)).toMatchObject([{ verbs: ['create'], resource: 'services' }]);
});

test('what a webhook or a policy refuses is not about the role', async () => {
  const { call, events, asked } = await controller(['create']);
  await call('POST', '/api/v1/namespaces/a/services');
  await expect.poll(() => asked).toEqual(['create']);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(events).toEqual([]);
});

test('without markers in the checkout, the rule is shown as YAML', async () => {
  const { 'go.mod': _, ...rest } = FILES;
  const { call, events } = await controller([], rest);
  await call('DELETE', '/api/v1/namespaces/a/services/web');
  await expect.poll(() => events).toHaveLength(1);
  expect(values(events)[0]).toMatchObject({
    yaml: '- {apiGroups: [""], resources: [services], verbs: [delete]}',
  });
  expect(values(events)[0]).not.toHaveProperty('marker');
});

test('nobody is told to extend the role because the user is not allowed to do something', async () => {
  const { call, events } = await controller([], FILES, null);
  await call('DELETE', '/api/v1/namespaces/a/services/web');
  await expect.poll(() => events).toHaveLength(1);
  expect(events[0]).not.toHaveProperty('hint');
});

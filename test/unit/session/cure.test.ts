import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ClusterApi } from '../../../src/cluster/api/client.ts';
import { checkoutRoles } from '../../../src/operator/manifests/granting.ts';
import { cureText } from '../../../src/report/notices/identity.ts';
import { cureFor } from '../../../src/session/start/cure.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';
import { directoryWith } from '../controller/support/places.ts';

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

async function checkout(): Promise<string> {
  const root = await directoryWith();
  await mkdir(join(root, 'config/rbac'), { recursive: true });
  await writeFile(join(root, 'config/rbac/role.yaml'), ROLE);
  return root;
}

test.each<[string[], string]>([
  [['/home/ann/.kube/config'], 'kubectl --context '],
  [[], 'kubectl --context '],
  [["/tmp/ann's"], String.raw`kubectl --kubeconfig '/tmp/ann'\''s' --context `],
  [['/tmp/a', '/tmp/b'], 'KUBECONFIG=/tmp/a:/tmp/b kubectl --context '],
])(
  'the command that adds a rule reaches the cluster of %j from any terminal',
  async (kubeconfigFiles, begin) => {
    const root = await checkout();
    const cluster = fakeCluster();
    cluster.put('ClusterRole', { metadata: { name: 'manager-role' } });
    const api: ClusterApi = { ...cluster.api, kubeconfigFiles };
    const { roles } = await checkoutRoles(root, 'manager');
    const place = { root, isGo: true, roles, owner: { namespace: 'shop' }, namespace: 'shop', api };
    const rule = { group: '', resource: 'pods', verbs: ['list'] };
    const { command } = await cureFor(rule, { ...place, env: { HOME: '/home/ann' } });
    expect(command?.slice(0, begin.length)).toBe(begin);
    expect(command).toContain('patch clusterrole manager-role');
  },
);

test('the command that writes a role from markers is that of the Makefile, and none is invented', async () => {
  const root = await checkout();
  const { roles } = await checkoutRoles(root, 'manager');
  const place = { root, isGo: true, roles, owner: { namespace: 'shop' }, namespace: 'shop', env: {} };
  const rule = { group: '', resource: 'pods', verbs: ['list'] };
  const without = await cureFor(rule, place);
  expect(without).not.toHaveProperty('generate');
  expect(cureText(without)).toContain(
    'then generate the role anew and apply the role:\n// +kubebuilder:rbac:',
  );
  await writeFile(
    join(root, 'Makefile'),
    'codegen:\n\tcontroller-gen rbac:roleName=manager-role paths="./..."\n',
  );
  const { generate, marker } = await cureFor(rule, place);
  expect(generate).toBe('make codegen');
  expect(cureText({ generate, marker })).toContain('then run make codegen and apply the role');
});

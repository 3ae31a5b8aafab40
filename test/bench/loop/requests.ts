import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { note } from '../figures.ts';
import { timeOne } from '../measure.ts';
import { type Loop, startUp, stop } from './sample.ts';

const USER = 'devloop-bench';

/** Makes the API server count the requests of one user: its metrics count requests by the FlowSchema that they match. */
const COUNTED = `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: ${USER}}
spec:
  matchingPrecedence: 2
  priorityLevelConfiguration: {name: exempt}
  rules:
  - subjects: [{kind: User, user: {name: ${USER}}}]
    resourceRules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*']}]
    nonResourceRules: [{verbs: ['*'], nonResourceURLs: ['*']}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ${USER}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ${USER}}]
`;

/** Prints how many requests `up` sends to the API server until it is ready. The controller's own requests come from another user. */
export async function countRequestsOfUp(loop: Loop): Promise<void> {
  const { cluster } = loop;
  const scratch = await mkdtemp(join(tmpdir(), 'devloop-bench-'));
  const manager = join(scratch, 'manager');
  await timeOne(['go', 'build', '-o', manager, './cmd'], {
    cwd: loop.directory,
    env: loop.env as NodeJS.ProcessEnv,
  });
  await cluster.kubectl(['apply', '-f', '-'], { input: COUNTED });
  const kubeconfig = await cluster.kubeconfigFor(USER);
  const controller = ['env', `KUBECONFIG=${cluster.kubeconfig}`, manager, '--leader-elect=false'];
  const before = await countedRequests(loop);
  await using run = await startUp({ ...loop, env: { ...loop.env, KUBECONFIG: kubeconfig } }, [
    '--',
    ...controller,
  ]);
  const requests = (await countedRequests(loop)) - before;
  note(`up to ready (${loop.name}): ${requests} requests to the API server`);
  await stop(run);
  await rm(scratch, { recursive: true });
}

async function countedRequests({ cluster }: Loop): Promise<number> {
  const metrics = await cluster.kubectl(['get', '--raw', '/metrics']);
  const counts = metrics.matchAll(
    new RegExp(`^apiserver_flowcontrol_dispatched_requests_total\\{flow_schema="${USER}".*\\} (\\d+)$`, 'gm'),
  );
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

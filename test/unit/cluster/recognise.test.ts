import { expect, test } from 'vitest';
import type { ClusterApi } from '../../../src/cluster/api/client.ts';
import type { KubeObject, Node } from '../../../src/cluster/api/objects.ts';
import { localTool, recogniseCluster } from '../../../src/cluster/api/recognise.ts';
import { DevloopError } from '../../../src/errors.ts';
import { fakeCluster, refusal } from '../../support/fake-cluster.ts';
import { clusterEntry } from '../../support/kubeconfig-entries.ts';
import { partly } from '../../support/partly.ts';

const node = (name: string, providerID = '', labels: Record<string, string> = {}): Node => ({
  metadata: { name, labels },
  spec: { providerID },
});
const kind = (name: string): Node => node(name, `kind://docker/kind/${name}`);
const minikube = (name: string): Node =>
  node(name, '', {
    'minikube.k8s.io/name': 'minikube',
    'minikube.k8s.io/version': 'v1.39.0',
    'minikube.k8s.io/commit': '7a9f6a8',
  });
const k3s = (name: string): Node =>
  node(name, `k3s://${name}`, { 'node.kubernetes.io/instance-type': 'k3s' });

test.each<[string | undefined, string, Node[]]>([
  ['kind', 'the Nodes of kind', [kind('kind-control-plane'), kind('kind-worker')]],
  ['minikube', 'the Nodes of minikube', [minikube('minikube'), minikube('minikube-m02')]],
  ['k3d', 'the Nodes of k3d', [k3s('k3d-dev-server-0'), k3s('k3d-dev-agent-0')]],
  [undefined, 'k3s on real machines', [k3s('server-1')]],
  [
    undefined,
    'one Node that somebody added',
    [node('a', 'aws:///eu-west-1a/i-0'), kind('kind-control-plane')],
  ],
  [undefined, 'Nodes of two tools', [kind('kind-control-plane'), minikube('minikube')]],
  [undefined, 'the providerID of another Node', [node('a', 'kind://docker/kind/kind-control-plane')]],
  [undefined, 'no Node that the account is allowed to see', []],
  [undefined, 'more Nodes than one machine has', Array.from({ length: 20 }, (_, at) => kind(`kind-${at}`))],
])('%s: %s', (tool, _, nodes) => {
  expect(localTool(nodes)).toBe(tool);
});

test("a cluster is known by kube-system's uid, or by its server and CA if the account is not allowed to read that", async () => {
  const [one, other] = [fakeCluster(), fakeCluster()];
  for (const { put } of [one, other]) put<KubeObject>('Namespace', { metadata: { name: 'kube-system' } });
  const { uid } = one.read<KubeObject>('Namespace', 'kube-system')!.metadata;
  const id = async ({ api }: typeof one, caData: string): Promise<string> => {
    const pinned = { cluster: clusterEntry({ name: 'x', server: 'https://a', caData }), context: {} };
    return (await recogniseCluster(partly<ClusterApi>({ ...api, pinned }))).id;
  };
  expect(await id(one, 'AAAA')).toBe(`uid ${uid}`);
  expect(await id(one, 'BBBB')).toBe(await id(one, 'AAAA'));
  expect(await id(other, 'AAAA')).not.toBe(await id(one, 'AAAA'));
  one.hook.before = (_, what) => {
    if (/kube-system|Node/.test(what)) throw refusal(403, 'Forbidden');
  };
  expect(await id(one, 'AAAA')).toMatch(/^server [0-9a-f]{64}$/);
  expect(await id(one, 'BBBB')).not.toBe(await id(one, 'AAAA'));
});

test('if the cluster does not answer, one error says so, and nothing else fails later', async () => {
  const { api, hook } = fakeCluster();
  hook.before = async (verb) => {
    // The error of the list comes second, when nobody may be waiting for it.
    if (verb === 'list') await new Promise(setImmediate);
    throw new DevloopError('cluster.unreachable', verb);
  };
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', note);
  await expect(recogniseCluster(api)).rejects.toMatchObject({ code: 'cluster.unreachable', message: 'get' });
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

import { createHash } from 'node:crypto';
import type { ClusterApi } from './client.ts';
import { noneIfRefused, undefinedIfForbidden } from './errors.ts';
import type { KubeObject, Node } from './objects.ts';
import { identityOf } from './pinned.ts';

/** A cluster, whatever its context is called: `kind-kind` is soon another one. */
export interface RecognisedCluster {
  id: string;
  /** The tool that runs the cluster on a developer's machine: `kind`. */
  tool?: string;
}

export async function recogniseCluster(api: ClusterApi): Promise<RecognisedCluster> {
  const query = { limit: String(MANY) };
  const [system, nodes] = await Promise.all([
    api.get<KubeObject>({ kind: 'Namespace', name: 'kube-system' }).catch(undefinedIfForbidden),
    api.list<Node>('Node', undefined, { query }).catch(noneIfRefused),
  ]);
  const uid = system?.metadata.uid;
  const id = uid === undefined ? `server ${hashOf(identityOf(api.pinned.cluster))}` : `uid ${uid}`;
  return { id, tool: localTool(nodes) };
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** More Nodes than a cluster on one machine has. */
const MANY = 20;

/**
 * What the tools write into the Nodes of their clusters. kind and k3s set `providerID` as a parameter of the kubelet or through their cloud
 * provider; minikube sets its labels on each Node.
 */
const TOOLS: Record<string, (node: Node) => boolean> = {
  kind: ({ metadata: { name }, spec }) =>
    /^kind:\/\/[^/]+\/[^/]+\/[^/]+$/.test(spec?.providerID ?? '') && spec!.providerID!.endsWith(`/${name}`),
  minikube: ({ metadata: { labels = {} } }) =>
    ['name', 'version', 'commit'].every((key) => labels[`minikube.k8s.io/${key}`] !== undefined),
  k3d: ({ metadata: { name, labels = {} }, spec }) =>
    name.startsWith('k3d-') &&
    spec?.providerID === `k3s://${name}` &&
    labels['node.kubernetes.io/instance-type'] === 'k3s',
};

/** The tool that made every Node, so one Node that somebody else has added or changed is not enough. */
export function localTool(nodes: Node[]): string | undefined {
  if (nodes.length === 0 || nodes.length >= MANY) return undefined;
  return Object.keys(TOOLS).find((tool) => nodes.every(TOOLS[tool]!));
}

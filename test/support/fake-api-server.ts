import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Kind, kindInfo, type ObjectRef } from '../../src/cluster/api/kinds.ts';
import type { KubeObject } from '../../src/cluster/api/objects.ts';
import { type FakeCluster, fakeCluster } from './fake-cluster.ts';

/** An API server in memory, for whole commands: it answers reads and access reviews, and refuses and records every write. */
export interface FakeApiServer extends AsyncDisposable {
  url: string;
  /** The objects that it serves. They can be replaced at any time. */
  cluster: FakeCluster;
  /** The method and path of each write. */
  writes: string[];
  kubeconfig: object;
}

const SERVED: Kind[] = [
  ...(['Service', 'Endpoints', 'Secret', 'ConfigMap', 'Pod', 'Namespace', 'Node'] as const),
  ...(['Deployment', 'StatefulSet', 'DaemonSet', 'ControllerRevision'] as const),
  ...(['HorizontalPodAutoscaler', 'PodDisruptionBudget', 'EndpointSlice', 'NetworkPolicy', 'Lease'] as const),
  ...(['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'] as const),
  ...(['APIService', 'CustomResourceDefinition'] as const),
];

export async function fakeApiServer(): Promise<FakeApiServer> {
  const server = createServer((request, response) => {
    void answer(fake, request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const fake: FakeApiServer = {
    url,
    cluster: fakeCluster(),
    writes: [],
    kubeconfig: {
      'current-context': 'fake',
      contexts: [{ name: 'fake', context: { cluster: 'fake', user: 'fake', namespace: 'shop' } }],
      clusters: [{ name: 'fake', cluster: { server: url } }],
      users: [{ name: 'fake', user: { token: 'anybody' } }],
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return fake;
}

async function answer(
  fake: FakeApiServer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url!, fake.url);
  await request.resume().toArray();
  const reply = (status: number, body: object): void =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  if (pathname.endsWith('/selfsubjectaccessreviews')) return reply(201, { status: { allowed: true } });
  if (request.method !== 'GET') {
    fake.writes.push(`${request.method} ${pathname}`);
    return reply(403, refusal(403, 'Forbidden', 'nothing can be written here'));
  }
  if (pathname === '/version') return reply(200, { major: '1', minor: '36', gitVersion: 'v1.36.0' });
  const ref = refIn(pathname);
  if (ref === undefined) return reply(404, refusal(404, 'NotFound', 'page not found'));
  const { kind, namespace, name } = ref;
  if (name !== undefined) {
    const object = fake.cluster.read(kind, name, namespace);
    return object ? reply(200, object) : reply(404, refusal(404, 'NotFound', `${kind} not found`));
  }
  const query = { labelSelector: searchParams.get('labelSelector') ?? '' };
  const items = await fake.cluster.api.list<KubeObject>(kind, namespace, { query });
  const rows = items.map(({ metadata }) => ({ cells: [metadata.name] }));
  const isTable = request.headers.accept?.includes('as=Table') ?? false;
  reply(200, isTable ? { rows } : { items, metadata: { resourceVersion: '1' } });
}

function refusal(code: number, reason: string, message: string): object {
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message };
}

/** Without a name, all objects of that kind. */
function refIn(path: string): (Omit<ObjectRef, 'name'> & { name?: string }) | undefined {
  for (const kind of SERVED) {
    const { root, plural } = kindInfo(kind);
    const found = new RegExp(`^${root}(?:/namespaces/([^/]+))?/${plural}(?:/([^/]+))?$`).exec(path);
    if (found === null) continue;
    const [namespace, name] = found.slice(1).map((part) => part && decodeURIComponent(part));
    return { kind, ...(namespace && { namespace }), ...(name && { name }) };
  }
  return undefined;
}

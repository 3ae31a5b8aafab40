import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { kubeconfigOf } from '../../cluster/api/kubeconfig.ts';
import { listenOn } from '../../machine/port.ts';

/** The API server that a manager is started with, on the loopback interface. */
export interface ApiServer extends AsyncDisposable {
  /** The path of a kubeconfig, or its content if no file has it yet. */
  kubeconfig: string | object;
}

/**
 * Stands in for a missing API server. It serves no kinds, so a manager's caches never fill, but its webhooks are still served. The error
 * for any other request names the missing cluster.
 */
export async function startNoCluster(): Promise<ApiServer> {
  const server = createServer((request, response) => {
    const found = ANSWERS[request.url?.split('?', 1)[0] ?? ''];
    if (request.method === 'GET' && found) return answer(response, 200, found);
    answer(response, 503, NO_CLUSTER);
  });
  const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
  return {
    kubeconfig: kubeconfigOf('devloop-verify', { server: `http://127.0.0.1:${port}` }, {}),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const ANSWERS: Record<string, object> = {
  '/version': { major: '1', minor: '36', gitVersion: 'v1.36.0' },
  '/api': { kind: 'APIVersions', versions: ['v1'] },
  '/api/v1': { kind: 'APIResourceList', groupVersion: 'v1', resources: [] },
  '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups: [] },
};

/** The answer to every other request of a manager. */
export const NO_CLUSTER = {
  ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 503 },
  ...{ reason: 'ServiceUnavailable', message: 'devloop: this manager runs without a cluster' },
};

function answer(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
}

import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { kubeconfigOf, loadKubeconfig, type SelectedContext } from '../../cluster/api/kubeconfig.ts';
import { listenOn } from '../../machine/port.ts';
import { discoveryOf, type ServedKind } from './kinds.ts';

/** The API server that a manager is started with, on the loopback interface. */
export interface ApiServer extends AsyncDisposable {
  /** How to connect to it. `directory`: for a kubeconfig that no file has yet. */
  select(directory: string): Promise<SelectedContext>;
  /** Whether the user has named it, so the operator can be deployed there. */
  isNamed?: boolean;
  /** Resolves when the manager has asked for something that only a cluster has. */
  refused?: Promise<void>;
}

/**
 * Stands in for a missing API server. It lists these kinds, but serves no objects, so a manager's caches never fill, but its webhooks are
 * still served. The error for any other request names the missing cluster.
 */
export async function startNoCluster(kinds: ServedKind[] = []): Promise<ApiServer> {
  const answers = new Map(Object.entries({ '/version': VERSION, ...discoveryOf(kinds) }));
  const refused = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    const found = answers.get(request.url?.split('?', 1)[0] ?? '');
    if (request.method === 'GET' && found) return answer(response, 200, found);
    refused.resolve();
    answer(response, 503, NO_CLUSTER);
  });
  const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
  return {
    async select(directory) {
      const kubeconfig = join(directory, 'api-server.json');
      const content = kubeconfigOf('devloop-verify', { server: `http://127.0.0.1:${port}` }, {});
      await writeFile(kubeconfig, JSON.stringify(content), { mode: 0o600 });
      return await loadKubeconfig({ kubeconfig }, {}, directory);
    },
    refused: refused.promise,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const VERSION = { major: '1', minor: '36', gitVersion: 'v1.36.0' };

/** The answer to every other request of a manager. */
export const NO_CLUSTER = {
  ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 503 },
  ...{ reason: 'ServiceUnavailable', message: 'devloop: this manager runs without a cluster' },
};

function answer(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
}

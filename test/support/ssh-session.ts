import type { ClusterApi } from '../../src/cluster/api/client.ts';
import type { Service } from '../../src/cluster/api/objects.ts';
import type { Target, TargetService } from '../../src/operator/target.ts';
import type { Emit } from '../../src/report/events.ts';
import type { Route } from '../../src/route/route.ts';
import type { OpenRoute, Routing } from '../../src/session/route/routing.ts';

export const SSH_HOST = '10.0.0.5';

/** Session s1, whose Service is led over an SSH host at the ports of the moment. `mend` tells that the tunnel is back. */
export function sshSession(
  api: ClusterApi,
  service: Service,
  { emit, signal, portFor }: { emit: Emit; signal: AbortSignal; portFor: () => number },
): { routing: Routing; open: OpenRoute; mend(): void } {
  const ports = [{ name: '', port: 443, targetPort: 9443 }];
  const taken: TargetService = { service, serverName: 'webhook.shop.svc', calls: [], ports, source: '' };
  const listeners: (() => void)[] = [];
  const route: Route = {
    name: 'ssh',
    via: 'box',
    target: { address: SSH_HOST },
    portFor,
    onReconnected: (listener) => void listeners.push(listener),
    explain: async () => undefined,
    async [Symbol.asyncDispose]() {},
  };
  const routing: Routing = {
    api,
    sessionId: 's1',
    target: { services: [taken], namespace: 'shop' } as Target,
    settings: { choice: { ssh: 'box' } },
    env: {},
    emit,
    signal,
  };
  const open = { route, gateways: { portFor: () => 9443, present() {} } } as unknown as OpenRoute;
  return { routing, open, mend: () => listeners.forEach((listener) => void listener()) };
}

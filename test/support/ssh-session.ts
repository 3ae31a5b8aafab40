import type { ClusterApi } from '../../src/cluster/api/client.ts';
import type { Service } from '../../src/cluster/api/objects.ts';
import type { Target, TargetService } from '../../src/operator/target.ts';
import type { Emit } from '../../src/report/events.ts';
import type { Route } from '../../src/route/route.ts';
import { planRoutes } from '../../src/session/route/kinds.ts';
import type { ChosenRoute } from '../../src/session/route/open-route.ts';
import type { RouteWork } from '../../src/session/route/routing.ts';
import { partly } from './partly.ts';

export const SSH_HOST = '10.0.0.5';

/** Session s1, whose Service uses an SSH host with the ports of `portFor`. `reconnect` reports that the tunnel is open again. */
export function sshSession(
  api: ClusterApi,
  service: Service,
  { emit, signal, portFor }: { emit: Emit; signal: AbortSignal; portFor: () => number },
): { routing: RouteWork; open: ChosenRoute; reconnect(): void } {
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
  const target = { services: [taken], namespace: 'shop' } as Target;
  const settings = { choice: { ssh: 'box' } };
  const routing: RouteWork = { api, sessionId: 's1', target, settings, env: {}, emit, signal };
  const [plan] = planRoutes(target, settings);
  const open = partly<ChosenRoute>({
    route,
    gateways: { portFor: () => 9443, present() {}, presentOnly: () => new DisposableStack() },
    plan,
  });
  return { routing, open, reconnect: () => listeners.forEach((listener) => void listener()) };
}

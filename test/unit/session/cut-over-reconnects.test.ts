import { expect, it } from 'vitest';
import type { EndpointSlice, Endpoints, Service } from '../../../src/cluster/api/objects.ts';
import { cutOver, followReconnects } from '../../../src/session/route/cut-over.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';
import { sshSession } from '../../support/ssh-session.ts';

/**
 * Cuts over to an SSH host whose tunnel reconnects, with another port, around the given call of the cut-over. Resolves with the ports to
 * which the Service points in the end, and with the calls up to the verification.
 */
async function cutOverWith(reconnectAround: number, when: 'before' | 'after') {
  const cluster = fakeCluster();
  const leaving = new AbortController();
  const service = cluster.put<Service>('Service', {
    metadata: { name: 'webhook', namespace: 'shop' },
    spec: { selector: { app: 'shop' }, ports: [{ port: 443 }] },
  });
  const warnings: string[] = [];
  let port = 1000;
  const session = sshSession(cluster.api, service, {
    emit: (event) => void (event.type === 'warning' && warnings.push(event.message)),
    signal: leaving.signal,
    portFor: () => port,
  });
  const { routing, open } = session;
  const reconnect = (): void => {
    port = 2000;
    session.reconnect();
  };
  const pointedAt = (): (number | undefined)[] => [
    cluster.read<EndpointSlice>('EndpointSlice', 'webhook-devloop-s1', 'shop')?.ports?.[0]?.port,
    cluster.read<Endpoints>('Endpoints', 'webhook', 'shop')?.subsets?.[0]?.ports?.[0]?.port,
  ];
  let calls = 0;
  let probes = 0;
  let awaited: string | undefined;
  const verifying = Promise.withResolvers<void>();
  cluster.hook.before = (_verb, what) => {
    if (what.startsWith('ConfigMap') && ++probes > 2) verifying.resolve();
    if (++calls !== reconnectAround) return;
    if (when === 'before') reconnect();
    else awaited = what;
  };
  cluster.hook.after = (_verb, what) => {
    if (what !== awaited) return;
    awaited = undefined;
    reconnect();
  };
  const cutting = cutOver(routing, open, new Map([['webhook.shop.svc', { pair: {} }]]) as never);
  const following = followReconnects(routing, open, cutting);
  const ended = cutting.catch(() => {});
  await verifying.promise;
  const verifiedAt = cluster.calls.findIndex((call) => call.startsWith('create ConfigMap'));
  leaving.abort();
  await ended;
  await following[Symbol.asyncDispose]();
  return { calls: cluster.calls.slice(0, verifiedAt), pointedAt: pointedAt(), warnings };
}

it('points to the ports of a tunnel that reconnects at any moment of the cut-over', async () => {
  const calls = (await cutOverWith(0, 'before')).calls;
  expect(calls).toContain('patch Service shop/webhook');
  const wrong: string[] = [];
  for (const [index, call] of calls.entries())
    for (const when of ['before', 'after'] as const) {
      const { pointedAt, warnings } = await cutOverWith(index + 1, when);
      if (warnings.length > 0 || pointedAt.some((port) => port !== 2000))
        wrong.push(`${when} ${call}: ${pointedAt} ${warnings}`);
    }
  expect(wrong).toEqual([]);
});

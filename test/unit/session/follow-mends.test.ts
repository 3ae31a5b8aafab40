import { expect, it } from 'vitest';
import type { EndpointSlice, Service } from '../../../src/cluster/objects.ts';
import { leadTo } from '../../../src/cluster/service.ts';
import { DevloopError } from '../../../src/errors.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { healthAfter } from '../../../src/session/health.ts';
import { followMends } from '../../../src/session/route/cut-over.ts';
import { type FakeCluster, fakeCluster, refusal } from '../../support/fake-cluster.ts';
import { SSH_HOST, sshSession } from '../../support/ssh-session.ts';

/** A session whose Service leads to port 1000 of an SSH host, and then to 2000, which is told by `mend`. */
async function taken(cluster: FakeCluster, signal: AbortSignal) {
  const service = cluster.put<Service>('Service', {
    metadata: { name: 'webhook', namespace: 'shop' },
    spec: { ports: [{ port: 443 }] },
  });
  const to = { address: SSH_HOST, ports: [{ name: '', port: 1000 }] };
  await leadTo(
    cluster.api,
    's1',
    service,
    () => to,
    () => {},
  );
  const events: DevloopEvent[] = [];
  const emit = (event: DevloopEvent): void => void events.push(event);
  return { ...sshSession(cluster.api, service, { emit, signal, portFor: () => 2000 }), events };
}

function portOfSlice(cluster: FakeCluster): number | undefined {
  return cluster.read<EndpointSlice>('EndpointSlice', 'webhook-devloop-s1', 'shop')?.ports?.[0]?.port;
}

it('follows a way that is back sooner than the API server', async () => {
  const cluster = fakeCluster();
  const leaving = new AbortController();
  const { routing, open, events, mend } = await taken(cluster, leaving.signal);
  let refusals = 5;
  cluster.hook.before = (_verb, what) => {
    if (what.startsWith('EndpointSlice') && refusals-- > 0)
      throw new DevloopError('cluster.unreachable', 'The API server does not answer: connect ENETUNREACH');
  };
  const following = followMends(routing, open, Promise.resolve());
  mend();
  await expect.poll(() => portOfSlice(cluster), { timeout: 10_000 }).toBe(2000);
  expect(events.filter(({ type }) => type === 'warning')).toEqual([]);
  leaving.abort();
  await following[Symbol.asyncDispose]();
});

it('takes away what the look has made, before it counts as ended', async () => {
  const cluster = fakeCluster();
  const leaving = new AbortController();
  const { routing, open, mend } = await taken(cluster, leaving.signal);
  cluster.hook.after = (verb, what) => {
    if (verb === 'create' && what.startsWith('ValidatingWebhookConfiguration')) leaving.abort();
  };
  const following = followMends(routing, open, Promise.resolve());
  mend();
  await following[Symbol.asyncDispose]();
  expect(cluster.calls.filter((call) => call.includes('ValidatingWebhookConfiguration'))).toHaveLength(2);
  expect(cluster.names('ValidatingWebhookConfiguration')).toEqual([]);
});

it('counts as serving again only once kube-apiserver has been seen to follow', async () => {
  const cluster = fakeCluster();
  const leaving = new AbortController();
  const { routing, open, events, mend } = await taken(cluster, leaving.signal);
  const seen: (string | undefined)[] = [];
  const emit = routing.emit;
  routing.emit = (event) => {
    emit(event);
    seen.push(healthAfter(event));
  };
  cluster.hook.before = (verb, what) => {
    const nonce = /^ConfigMap shop\/devloop-probe-(\w+)$/.exec(what)?.[1];
    if (verb !== 'create' || nonce === undefined) return;
    expect(seen).not.toContain('serving');
    throw refusal(
      403,
      'Forbidden',
      `webhook "probe.devloop.dev" denied: devloop probe ${nonce} reached session s1`,
    );
  };
  const following = followMends(routing, open, Promise.resolve());
  routing.emit({ type: 'route.mended', route: 'ssh', via: 'box', ms: 1 });
  expect(seen).toEqual(['the ssh route is back, but not proven yet']);
  mend();
  await expect.poll(() => seen.at(-1)).toBe('serving');
  expect(events.at(-1)).toMatchObject({
    type: 'route.proven',
    address: 'box:2000',
    service: 'shop/webhook',
  });
  await following[Symbol.asyncDispose]();
});

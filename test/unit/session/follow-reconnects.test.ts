import { expect, it } from 'vitest';
import type { EndpointSlice, Service } from '../../../src/cluster/api/objects.ts';
import { writeEndpoints } from '../../../src/cluster/takeover/endpoints.ts';
import { DevloopError } from '../../../src/errors.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { healthOf, nothingYet, observedAfter } from '../../../src/session/context/observed.ts';
import { followReconnects } from '../../../src/session/route/cut-over.ts';
import { type FakeCluster, fakeCluster, refusal } from '../../support/fake-cluster.ts';
import { SSH_HOST, sshSession } from '../../support/ssh-session.ts';

/** A session whose Service points to port 1000 of an SSH host and, after `reconnect`, to another port. */
async function taken(cluster: FakeCluster, signal: AbortSignal, portFor = () => 2000) {
  const service = cluster.put<Service>('Service', {
    metadata: { name: 'webhook', namespace: 'shop' },
    spec: { ports: [{ port: 443 }] },
  });
  const to = { address: SSH_HOST, ports: [{ name: '', port: 1000 }] };
  const work = { api: cluster.api, sessionId: 's1', emit: () => {}, signal };
  await writeEndpoints(work, service, () => to);
  const events: DevloopEvent[] = [];
  const emit = (event: DevloopEvent): void => void events.push(event);
  return { ...sshSession(cluster.api, service, { emit, signal, portFor }), events };
}

function portOfSlice(cluster: FakeCluster): number | undefined {
  return cluster.read<EndpointSlice>('EndpointSlice', 'webhook-devloop-s1', 'shop')?.ports?.[0]?.port;
}

/** The API server does not answer the first requests for slices. */
function refuseSlices(cluster: FakeCluster, refusals: number): void {
  let left = refusals;
  cluster.hook.before = (_verb, what) => {
    if (what.startsWith('EndpointSlice') && left-- > 0)
      throw new DevloopError('cluster.unreachable', 'The API server does not answer: connect ENETUNREACH');
  };
}

it('follows a route that is back sooner than the API server', async () => {
  const cluster = fakeCluster();
  const leaving = new AbortController();
  const { routing, open, events, reconnect } = await taken(cluster, leaving.signal);
  refuseSlices(cluster, 5);
  const following = followReconnects(routing, open, Promise.resolve());
  reconnect();
  await expect.poll(() => portOfSlice(cluster), { timeout: 10_000 }).toBe(2000);
  expect(events.filter(({ type }) => type === 'warning')).toEqual([]);
  leaving.abort();
  await following[Symbol.asyncDispose]();
});

it('removes what the verification created before it counts as disposed', async () => {
  const cluster = fakeCluster();
  const leaving = new AbortController();
  const { routing, open, reconnect } = await taken(cluster, leaving.signal);
  cluster.hook.after = (verb, what) => {
    if (verb === 'create' && what.startsWith('ValidatingWebhookConfiguration')) leaving.abort();
  };
  const following = followReconnects(routing, open, Promise.resolve());
  reconnect();
  await following[Symbol.asyncDispose]();
  expect(cluster.calls.filter((call) => call.includes('ValidatingWebhookConfiguration'))).toHaveLength(2);
  expect(cluster.names('ValidatingWebhookConfiguration')).toEqual([]);
});

/** Answers probes as kube-apiserver does when it reaches the gateway; `look` runs before each of them. */
function answerProbes(cluster: FakeCluster, look: () => void): void {
  cluster.hook.before = (verb, what) => {
    const nonce = /^ConfigMap shop\/devloop-probe-(\w+)$/.exec(what)?.[1];
    if (verb !== 'create' || nonce === undefined) return;
    look();
    throw refusal(
      403,
      'Forbidden',
      `webhook "probe.devloop.dev" denied: devloop probe ${nonce} reached session s1`,
    );
  };
}

it('counts as serving again only after kube-apiserver has followed', async () => {
  const cluster = fakeCluster();
  const leaving = new AbortController();
  const { routing, open, events, reconnect } = await taken(cluster, leaving.signal);
  let facts = observedAfter(nothingYet(['shop/webhook']), { type: 'session.ready', session: 's1', ms: 1 });
  const seen: string[] = [];
  const emit = routing.emit;
  routing.emit = (event) => {
    emit(event);
    facts = observedAfter(facts, event);
    seen.push(healthOf(facts));
  };
  answerProbes(cluster, () => expect(seen).not.toContain('serving'));
  const following = followReconnects(routing, open, Promise.resolve());
  routing.emit({ type: 'route.reconnected', route: 'ssh', via: 'box', ms: 1 });
  expect(seen).toEqual([expect.stringMatching(/ssh .*not verified/)]);
  reconnect();
  await expect.poll(() => seen.at(-1)).toBe('serving');
  expect(events.at(-1)).toMatchObject({
    type: 'route.verified',
    address: 'box:2000',
    service: 'shop/webhook',
  });
  await following[Symbol.asyncDispose]();
});

it('verifies a route that reconnected during the cut-over after the cut-over', async () => {
  const cluster = fakeCluster();
  const leaving = new AbortController();
  const { routing, open, events, reconnect } = await taken(cluster, leaving.signal);
  const verifications = (): number => events.filter(({ type }) => type === 'route.verified').length;
  answerProbes(cluster, () => {});
  const cutOver = Promise.withResolvers<void>();
  const following = followReconnects(routing, open, cutOver.promise);
  reconnect();
  await expect.poll(() => portOfSlice(cluster)).toBe(2000);
  expect(verifications()).toBe(0);
  cutOver.resolve();
  await expect.poll(verifications).toBe(1);
  await following[Symbol.asyncDispose]();
});

it('follows at once a route that reconnects while it is being verified', async () => {
  const cluster = fakeCluster();
  const leaving = new AbortController();
  let port = 2000;
  const { routing, open, reconnect } = await taken(cluster, leaving.signal, () => port);
  const following = followReconnects(routing, open, Promise.resolve());
  reconnect();
  await expect
    .poll(() => cluster.calls.filter((call) => call.includes('ConfigMap')).length)
    .toBeGreaterThan(2);
  port = 3000;
  reconnect();
  await expect.poll(() => portOfSlice(cluster)).toBe(3000);
  leaving.abort();
  await following[Symbol.asyncDispose]();
});

it('follows a route that reconnects during the restore, without verifying it', async () => {
  const cluster = fakeCluster();
  const leaving = new AbortController();
  const { routing, open, reconnect } = await taken(cluster, leaving.signal);
  refuseSlices(cluster, 1);
  const following = followReconnects(routing, open, Promise.resolve());
  leaving.abort();
  reconnect();
  await expect.poll(() => portOfSlice(cluster)).toBe(2000);
  await following[Symbol.asyncDispose]();
  expect(cluster.calls.filter((call) => call.includes('ConfigMap'))).toEqual([]);
});

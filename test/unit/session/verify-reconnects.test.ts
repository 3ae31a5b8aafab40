import { expect, it } from 'vitest';
import type {
  EndpointSlice,
  Endpoints,
  Service,
  WebhookConfiguration,
} from '../../../src/cluster/api/objects.ts';
import type { ProbeResult } from '../../../src/session/route/probe-until.ts';
import { verifyRoute } from '../../../src/session/route/verify-route.ts';
import { type FakeCluster, fakeCluster, refusal } from '../../support/fake-cluster.ts';
import { SSH_HOST, sshSession } from '../../support/ssh-session.ts';

const LIMIT_MS = 1_000;
const PROBE = 'devloop-probe-s1';

/** How kube-apiserver calls the temporary Service: by its name and the webhook's port, or at its endpoints. */
function portsOf(cluster: FakeCluster): (number | undefined)[] {
  const service = cluster.read<Service>('Service', PROBE, 'shop');
  if (service?.spec.externalName === SSH_HOST) {
    const [name] = cluster.names('ValidatingWebhookConfiguration');
    const configuration = cluster.read<WebhookConfiguration>(
      'ValidatingWebhookConfiguration',
      name!,
      undefined,
    );
    return [configuration?.webhooks?.[0]?.clientConfig.service?.port];
  }
  const slice = cluster.read<EndpointSlice>('EndpointSlice', `${PROBE}-devloop-s1`, 'shop');
  const endpoints = cluster.read<Endpoints>('Endpoints', PROBE, 'shop');
  return [slice?.ports?.[0]?.port, endpoints?.subsets?.[0]?.ports?.[0]?.port];
}

/** What kube-apiserver answers to a probe while the tunnel has this port on the host. */
function answerProbe(cluster: FakeCluster, nonce: string, open: number): Error {
  const called = portsOf(cluster);
  return called.every((port) => port === open)
    ? refusal(403, 'Forbidden', `"probe.devloop.dev" denied: devloop probe ${nonce} reached session s1`)
    : refusal(
        500,
        'InternalError',
        `failed calling webhook "probe.devloop.dev": failed to call webhook: Post "https://x": dial tcp ${SSH_HOST}:${called}: connect: connection refused`,
      );
}

/** Verifies a tunnel that reconnects, with another port, around the given call. */
async function verifyWith(
  reconnectAround: number,
  when: 'before' | 'after',
): Promise<{ result: ProbeResult; calls: string[]; left: string[] }> {
  const cluster = fakeCluster();
  const service = cluster.put<Service>('Service', {
    metadata: { name: 'webhook', namespace: 'shop' },
    spec: { selector: { app: 'shop' }, ports: [{ port: 443 }] },
  });
  let port = 1000;
  const { routing, open } = sshSession(cluster.api, service, {
    emit: () => {},
    signal: new AbortController().signal,
    portFor: () => port,
  });
  let calls = 0;
  let awaited: string | undefined;
  cluster.hook.before = (verb, what) => {
    if (++calls === reconnectAround) {
      if (when === 'before') port = 2000;
      else awaited = what;
    }
    const nonce = /^ConfigMap shop\/devloop-probe-(\w+)$/.exec(what)?.[1];
    if (verb === 'create' && nonce !== undefined) throw answerProbe(cluster, nonce, port);
  };
  cluster.hook.after = (_verb, what) => {
    if (what === awaited) port = 2000;
  };
  const result = await verifyRoute(routing, open, LIMIT_MS);
  const left = [
    ...cluster.names('EndpointSlice'),
    ...cluster.names('Endpoints'),
    ...cluster.names('Service'),
  ];
  return { result, calls: cluster.calls, left };
}

it('uses the ports of a tunnel that reconnects at any moment of the verification', async () => {
  const { calls } = await verifyWith(0, 'before');
  expect(calls).toContainEqual(expect.stringMatching(/^create ConfigMap/));
  const wrong: string[] = [];
  for (const [index, call] of calls.entries())
    for (const when of ['before', 'after'] as const) {
      const { result, left } = await verifyWith(index + 1, when);
      if (!result.reached || left.join() !== 'webhook')
        wrong.push(`${when} ${call}: ${result.cause} ${left}`);
    }
  expect(wrong).toEqual([]);
});

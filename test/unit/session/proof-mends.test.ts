import { expect, it } from 'vitest';
import type { EndpointSlice, Endpoints, Service } from '../../../src/cluster/api/objects.ts';
import { type Proof, proveRoute } from '../../../src/session/route/proof.ts';
import { type FakeCluster, fakeCluster, refusal } from '../../support/fake-cluster.ts';
import { SSH_HOST, sshSession } from '../../support/ssh-session.ts';

const LIMIT_MS = 1_000;
const PROBE = 'devloop-probe-s1';

/** What kube-apiserver says to a probe while the tunnel's end is at this port of the host. */
function answerProbe(cluster: FakeCluster, nonce: string, open: number): Error {
  const slice = cluster.read<EndpointSlice>('EndpointSlice', `${PROBE}-devloop-s1`, 'shop');
  const endpoints = cluster.read<Endpoints>('Endpoints', PROBE, 'shop');
  const called = [slice?.ports?.[0]?.port, endpoints?.subsets?.[0]?.ports?.[0]?.port];
  return called.every((port) => port === open)
    ? refusal(403, 'Forbidden', `"probe.devloop.dev" denied: devloop probe ${nonce} reached session s1`)
    : refusal(
        500,
        'InternalError',
        `failed calling webhook "probe.devloop.dev": failed to call webhook: Post "https://x": dial tcp ${SSH_HOST}:${called}: connect: connection refused`,
      );
}

/** Proves a tunnel that mends, with another port, around the given call. Resolves to what came of it, and the calls. */
async function proveWith(
  mendAround: number,
  when: 'before' | 'after',
): Promise<{ proof: Proof; calls: string[]; left: string[] }> {
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
    if (++calls === mendAround) {
      if (when === 'before') port = 2000;
      else awaited = what;
    }
    const nonce = /^ConfigMap shop\/devloop-probe-(\w+)$/.exec(what)?.[1];
    if (verb === 'create' && nonce !== undefined) throw answerProbe(cluster, nonce, port);
  };
  cluster.hook.after = (_verb, what) => {
    if (what === awaited) port = 2000;
  };
  const proof = await proveRoute(routing, open, LIMIT_MS);
  const left = [
    ...cluster.names('EndpointSlice'),
    ...cluster.names('Endpoints'),
    ...cluster.names('Service'),
  ];
  return { proof, calls: cluster.calls, left };
}

it('goes on by the ports of a tunnel that mends at any moment of the proof', async () => {
  const { calls } = await proveWith(0, 'before');
  expect(calls).toContainEqual(expect.stringMatching(/^create ConfigMap/));
  const wrong: string[] = [];
  for (const [index, call] of calls.entries())
    for (const when of ['before', 'after'] as const) {
      const { proof, left } = await proveWith(index + 1, when);
      if (!proof.reached || left.join() !== 'webhook') wrong.push(`${when} ${call}: ${proof.cause} ${left}`);
    }
  expect(wrong).toEqual([]);
});

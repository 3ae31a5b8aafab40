import { expect, it } from 'vitest';
import type { Service } from '../../../src/cluster/api/objects.ts';
import type { ProbeResult } from '../../../src/session/route/probe-until.ts';
import { verifyRoute } from '../../../src/session/route/verify-route.ts';
import { type FakeCluster, fakeCluster, refusal } from '../../support/fake-cluster.ts';
import { SSH_HOST, sshSession } from '../../support/ssh-session.ts';

const LIMIT_MS = 1_000;
const PROBE = 'devloop-probe-s1';

/** How kube-apiserver resolves a Service of type ExternalName, and one with endpoints. */
interface Resolves {
  name?: string;
  endpoints?: string;
}

const REACHED = 'reached';

/** Verifies an address of the Service, with these answers. */
async function verify(
  answers: Resolves,
  {
    spec,
    probes,
    before,
  }: { spec?: Partial<Service['spec']>; probes?: number; before?: FakeCluster['hook']['before'] } = {},
): Promise<{ result: ProbeResult; made: string[]; left: string[] }> {
  const cluster = fakeCluster();
  const service = cluster.put<Service>('Service', {
    metadata: { name: 'webhook', namespace: 'shop' },
    spec: { selector: { app: 'shop' }, ports: [{ port: 443 }], ...spec },
  });
  const { routing, open } = sshSession(cluster.api, service, {
    emit: () => {},
    signal: new AbortController().signal,
    portFor: () => 1000,
  });
  cluster.hook.before = async (verb, what) => {
    await before?.(verb, what);
    const nonce = /^ConfigMap shop\/devloop-probe-([0-9a-f]+)$/.exec(what)?.[1];
    if (verb === 'create' && nonce !== undefined) throw answerOf(cluster, nonce, answers);
  };
  const result = await verifyRoute(probes === undefined ? routing : { ...routing, probes }, open, LIMIT_MS);
  const made = cluster.calls.filter((call) => /^create (Service|EndpointSlice) /.test(call));
  return { result, made, left: [...cluster.names('Service'), ...cluster.names('EndpointSlice')] };
}

function answerOf(cluster: FakeCluster, nonce: string, { name, endpoints }: Resolves): Error {
  const probe = cluster.names('Service').find((one) => one.startsWith(PROBE));
  const spec = cluster.read<Service>('Service', probe ?? '', 'shop')?.spec;
  const hasSlice = cluster.names('EndpointSlice').length > 0;
  const answer = spec?.type === 'ExternalName' ? name : hasSlice ? endpoints : 'no endpoints available';
  if (answer === REACHED)
    return refusal(403, 'Forbidden', `"probe.devloop.dev" denied: devloop probe ${nonce} reached session s1`);
  const message = `failed calling webhook "probe.devloop.dev": failed to call webhook: Post "https://x": ${answer}`;
  return refusal(500, 'InternalError', message);
}

const UNSUPPORTED = 'unsupported service type "ExternalName"';

it('calls the address by its name, and writes no endpoints', async () => {
  const { result, made, left } = await verify({ name: REACHED, endpoints: 'never asked' });
  expect(result.reached).toBe(true);
  // The slice is created in a dry run.
  expect(made).toEqual([`create Service shop/${PROBE}`, `create EndpointSlice shop/${PROBE}-devloop-s1`]);
  expect(left).toEqual(['webhook']);
});

it('writes endpoints where kube-apiserver takes no names', async () => {
  const { result, made, left } = await verify({ name: UNSUPPORTED, endpoints: REACHED });
  expect(result.reached).toBe(true);
  expect(made.filter((call) => call.includes('Service '))).toHaveLength(2);
  expect(left).toEqual(['webhook']);
});

it('says what the endpoints met where both fail', async () => {
  const { result, left } = await verify({ name: UNSUPPORTED, endpoints: 'dial tcp 10.0.0.5:1000: no route' });
  expect(result).toMatchObject({ reached: false, cause: expect.stringContaining('no route') });
  expect(left).toEqual(['webhook']);
});

it('says what has refused the probes all the time', async () => {
  const before = (verb: string, what: string): void => {
    if (verb === 'create' && what.startsWith('ConfigMap'))
      throw refusal(403, 'Forbidden', 'admission webhook "policy" denied the request: no label team');
  };
  const { result, left } = await verify({ name: REACHED }, { before });
  expect(result).toMatchObject({ reached: false, cause: expect.stringContaining('no label team') });
  expect(left).toEqual(['webhook']);
});

it('fails before anything is changed where the cluster refuses such endpoints', async () => {
  const before = (verb: string, what: string): void => {
    if (verb === 'create' && what.startsWith('EndpointSlice'))
      throw refusal(403, 'Forbidden', 'endpoints without a Pod');
  };
  const verifying = verify({ name: REACHED, endpoints: REACHED }, { before });
  await expect(verifying).rejects.toMatchObject({ code: 'cluster.forbidden' });
});

it.each([
  [
    'a Service whose cluster IP is of the other family',
    { spec: { ipFamilies: ['IPv6' as const, 'IPv4' as const] } },
  ],
  ['proof by many probes', { probes: 10 }],
])('needs endpoints for %s', async (_what, how) => {
  const { result } = await verify({ name: REACHED, endpoints: `dial tcp ${SSH_HOST}:1000: refused` }, how);
  expect(result).toMatchObject({ reached: false, cause: expect.stringContaining('refused') });
});

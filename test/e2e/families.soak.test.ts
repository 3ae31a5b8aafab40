import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { EndpointSlice, Endpoints } from '../../src/cluster/api/objects.ts';
import { type ClusterOptions, startCluster, type TestCluster } from '../cluster/cluster.ts';
import { CONTROL_PLANES } from '../support/control-planes.ts';
import { type DevloopRun, runDevloop, startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { askHook, deployHooks, HOOK_NAMESPACE, hooksAtRest } from '../support/hook-operator.ts';
import { hookServer } from '../support/hook-server.ts';
import { SOAK } from '../support/repeat.ts';
import { snapshot } from '../support/snapshot.ts';

const SERVICES = ['--service', `${HOOK_NAMESPACE}/first`, '--service', `${HOOK_NAMESPACE}/second`];

const SLICES = `/apis/discovery.k8s.io/v1/namespaces/${HOOK_NAMESPACE}/endpointslices`;

type Family = 'IPv4' | 'IPv6';

interface Box extends AsyncDisposable {
  cluster: TestCluster;
  cwd: string;
  env: Record<string, string>;
}

async function startBox(options: ClusterOptions): Promise<Box> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(
    await startCluster({ ...options, certManager: false, log: (line) => console.error(line) }),
  );
  await deployHooks(cluster);
  const cwd = await mkdtemp(join(tmpdir(), 'devloop-families-'));
  stack.defer(() => rm(cwd, { recursive: true, force: true }));
  const owned = stack.move();
  const env = { KUBECONFIG: cluster.kubeconfig };
  return { cluster, cwd, env, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** The first family of a Service cannot be changed, so the Services are created again. */
async function remakeServices(cluster: TestCluster, first: Family[], second = first): Promise<void> {
  const service = (name: string, ipFamilies: Family[], ports: object[]): object => ({
    metadata: { name },
    spec: {
      selector: { app: 'hooks' },
      ipFamilies,
      ipFamilyPolicy: ipFamilies.length > 1 ? 'RequireDualStack' : 'SingleStack',
      ports,
    },
  });
  const items = [
    service('first', first, [
      { name: 'https', port: 443, targetPort: 'admission' },
      { name: 'other', port: 8443, targetPort: 'other' },
    ]),
    service('second', second, [{ port: 9000, targetPort: 9445 }]),
  ];
  const services = `/api/v1/namespaces/${HOOK_NAMESPACE}/services`;
  for (const name of ['first', 'second']) await cluster.call('DELETE', `${services}/${name}`);
  for (const item of items) await cluster.call('POST', services, item);
  const addresses = 2 * (first.length + second.length);
  await eventually(async () => {
    const slices = await listOf<EndpointSlice>(cluster, SLICES);
    expect(slices.flatMap((one) => one.endpoints ?? []).length).toBe(addresses);
  });
  await hooksAtRest(cluster);
}

function startUp({ cwd, env }: Box, ...args: string[]): DevloopRun {
  const server = hookServer('local', '9444', '9445');
  return startDevloop(['up', '--route', 'direct', ...SERVICES, ...args, ...server], { cwd, env });
}

/** The family and addresses of every slice of a Service, and the addresses of its Endpoints. */
async function leadsTo(cluster: TestCluster, service: string): Promise<unknown> {
  const slices = await listOf<EndpointSlice>(
    cluster,
    `${SLICES}?labelSelector=kubernetes.io/service-name%3D${service}`,
  );
  const path = `/api/v1/namespaces/${HOOK_NAMESPACE}/endpoints/${service}`;
  const endpoints = (await cluster.read(path)) as Endpoints;
  return {
    // Those of Kubernetes stay, without endpoints.
    slices: slices
      .filter(({ endpoints }) => (endpoints ?? []).length > 0)
      .map((one) => [one.addressType, ...(one.endpoints ?? []).flatMap((end) => end.addresses)]),
    endpoints: (endpoints.subsets ?? []).flatMap((one) => (one.addresses ?? []).map(({ ip }) => ip)),
  };
}

async function listOf<T>(cluster: TestCluster, path: string): Promise<T[]> {
  return ((await cluster.read(path)) as { items: T[] }).items;
}

/** Takes over, calls every webhook, and restores. While it holds the operator, the Services must point to this one address. */
async function expectServed(box: Box, family: Family, address: string, ...args: string[]): Promise<void> {
  const { cluster } = box;
  const before = await snapshot(cluster, HOOK_NAMESPACE);
  await using up = startUp(box, ...args);
  await up.waitFor('session.ready');
  await expect(askHook(cluster, 'first')).rejects.toThrow('local on 9444 says no');
  await expect(askHook(cluster, 'second')).rejects.toThrow('local on 9445 says no');
  await expect(askHook(cluster, 'third')).rejects.toThrow('local on 9445 says no');
  const named = family === 'IPv6' ? `[${address}]:` : `${address}:`;
  const proven = up.events.flatMap((event) => (event.type === 'route.verified' ? [event.address] : []));
  expect(proven.filter((one) => !one.startsWith(named))).toEqual([]);
  const here = { slices: [[family, address]], endpoints: [address] };
  expect(await leadsTo(cluster, 'first')).toEqual(here);
  expect(await leadsTo(cluster, 'second')).toEqual(here);
  const down = await runDevloop(['down'], { cwd: tmpdir(), env: box.env });
  expect(down.code, down.log).toBe(0);
  expect(await up.exited).toBe(130);
  await hooksAtRest(cluster);
  expect(await snapshot(cluster, HOOK_NAMESPACE)).toEqual(before);
}

/** devloop refuses with this message, before it changes anything of the operator. */
async function expectRefused(box: Box, message: RegExp, ...args: string[]): Promise<void> {
  const before = await snapshot(box.cluster, HOOK_NAMESPACE);
  await using up = startUp(box, ...args);
  expect(await up.exited, up.log()).toBe(5);
  const refusal = { type: 'error', code: 'route.none', message: expect.stringMatching(message) };
  expect(up.events.at(-1)).toMatchObject(refusal);
  expect(up.events.filter((event) => event.type === 'change' && !event.temporary)).toEqual([]);
  expect(await snapshot(box.cluster, HOOK_NAMESPACE)).toEqual(before);
}

describe.each(CONTROL_PLANES)('a dual-stack cluster: %s', (_, mode) => {
  let box: Box;
  let ipv4: string;
  let ipv6: string;

  beforeAll(async () => {
    box = await startBox({ ...mode, families: 'dual' });
    [ipv4, ipv6] = box.cluster.hostIps as [string, string];
  });

  afterAll(() => box?.[Symbol.asyncDispose]());

  /** What does not depend on endpoint routing is tested once in `npm test`, and in each mode in `npm run soak`. */
  const once = it.runIf(SOAK || !mode.aggregatorRouting);

  // What a failed test leaves behind would make the next ones fail, too.
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') await runDevloop(['down'], box);
  });

  once('a dual-stack Service, IPv4 first, leads to an IPv4 address', async () => {
    await remakeServices(box.cluster, ['IPv4', 'IPv6']);
    await expectServed(box, 'IPv4', ipv4);
  });

  once('a dual-stack Service, IPv6 first, leads to an IPv6 address', async () => {
    await remakeServices(box.cluster, ['IPv6', 'IPv4']);
    await expectServed(box, 'IPv6', ipv6);
  });

  // The cluster below has such Services, too.
  it.runIf(SOAK)('an IPv6 Service leads to an IPv6 address', async () => {
    await remakeServices(box.cluster, ['IPv6']);
    await expectServed(box, 'IPv6', ipv6);
  });

  // test/unit/machine/addresses.test.ts has more spellings of addresses.
  it.runIf(SOAK)('--address may be an IPv6 address in any spelling', async () => {
    await remakeServices(box.cluster, ['IPv6', 'IPv4']);
    await expectServed(box, 'IPv6', ipv6, '--address', ipv6.toUpperCase().replace('::', ':0:0::0:'));
  });

  once('Services without a shared family are refused', async () => {
    await remakeServices(box.cluster, ['IPv4'], ['IPv6']);
    await expectRefused(box, /hooks\/first is IPv4, hooks\/second is IPv6/);
  });

  if (mode.aggregatorRouting) {
    it('Services with different families lead to the family that they share', async () => {
      await remakeServices(box.cluster, ['IPv4', 'IPv6'], ['IPv6']);
      await expectServed(box, 'IPv6', ipv6);
    });

    it('an address of the second family serves: kube-apiserver calls whatever endpoint there is', async () => {
      await remakeServices(box.cluster, ['IPv6', 'IPv4']);
      await expectServed(box, 'IPv4', ipv4, '--address', ipv4);
    });
  } else {
    it('an address of the second family is refused: kube-apiserver calls the cluster IP of the first', async () => {
      await remakeServices(box.cluster, ['IPv6', 'IPv4']);
      await expectRefused(box, /\[fd10:96:.*refused.*IPv6 cluster IP of hooks\/first/, '--address', ipv4);
    });

    it('Services that begin with different families are refused: one address cannot stand behind both', async () => {
      await remakeServices(box.cluster, ['IPv4', 'IPv6'], ['IPv6']);
      await expectRefused(box, /10\.96\..*refused.*IPv4 cluster IP of hooks\/first/);
    });
  }
});

it.runIf(CONTROL_PLANES.some(([, { aggregatorRouting }]) => !aggregatorRouting))(
  'a cluster with IPv6 alone',
  async () => {
    await using box = await startBox({ families: 'ipv6' });
    await remakeServices(box.cluster, ['IPv6']);
    await expectServed(box, 'IPv6', box.cluster.hostIp);
  },
);

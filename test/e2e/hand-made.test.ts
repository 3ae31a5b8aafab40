/** Webhook Services whose selector somebody removed, with Endpoints and EndpointSlices that were written by hand, as some articles show. */
import { tmpdir } from 'node:os';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { EndpointSlice, Endpoints, KubeObject, Service } from '../../src/cluster/api/objects.ts';
import type { DevloopEvent } from '../../src/report/events.ts';
import { ensureClusterBinaries } from '../cluster/build.ts';
import { run } from '../cluster/run.ts';
import { startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { type HollowOperator, sharedHollowOperator } from '../support/hollow-operator.ts';
import { askHook, HOOK_NAMESPACE } from '../support/hook-operator.ts';
import { dryRun } from '../support/planned-changes.ts';

const LAPTOP = '10.11.12.13';
const SLICES = 'apis/discovery.k8s.io/v1';
const BY_KUBERNETES = 'endpointslicemirroring-controller.k8s.io';

let operator: HollowOperator;

beforeAll(async () => {
  operator = await sharedHollowOperator();
});

const env = (): Record<string, string> => ({ KUBECONFIG: operator.cluster.kubeconfig });
const up = (...flags: string[]) => {
  const [command = '', ...rest] = operator.up;
  return startDevloop([command, ...flags, ...rest], { cwd: operator.directory, env: env() });
};

async function list<T extends KubeObject>(group: string, plural: string): Promise<T[]> {
  const path = `/${group}/namespaces/${HOOK_NAMESPACE}/${plural}`;
  return ((await operator.cluster.read(path)) as { items: T[] }).items;
}

/** The selector of `first` is gone, its Endpoints are made by hand; `second` has only a hand-made slice. */
beforeEach(async () => {
  const { cluster } = operator;
  for (const name of ['first', 'second']) {
    const patch = ['patch', 'service', name, '--type', 'merge', '-p', '{"spec":{"selector":null}}'];
    await cluster.kubectl(['-n', HOOK_NAMESPACE, ...patch]);
  }
  const metadata = { namespace: HOOK_NAMESPACE, annotations: { note: 'by hand' } };
  const ports = [
    { name: 'https', port: 9443 },
    { name: 'other', port: 9444 },
  ];
  await cluster.kubectl([
    '-n',
    HOOK_NAMESPACE,
    'delete',
    'endpoints',
    'first',
    'second',
    '--ignore-not-found',
  ]);
  await cluster.kubectl([
    ...['-n', HOOK_NAMESPACE, 'delete', 'endpointslices', '-l', 'kubernetes.io/service-name=second'],
  ]);
  await cluster.call('POST', `/api/v1/namespaces/${HOOK_NAMESPACE}/endpoints`, {
    metadata: { ...metadata, name: 'first', labels: { by: 'hand' } },
    subsets: [
      { addresses: [{ ip: LAPTOP }], ports },
      { addresses: [{ ip: '10.11.12.14', hostname: 'desk' }], ports },
    ],
  });
  await cluster.call('POST', `/${SLICES}/namespaces/${HOOK_NAMESPACE}/endpointslices`, {
    metadata: { ...metadata, name: 'by-hand', labels: { 'kubernetes.io/service-name': 'second' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [LAPTOP], hostname: 'lap' }],
    ports: [{ port: 9445 }],
  });
  await eventually(async () => {
    const slices = await list<EndpointSlice>(SLICES, 'endpointslices');
    expect(slices.some(isMirrored)).toBe(true);
  });
});

const isMirrored = ({ metadata }: KubeObject): boolean =>
  metadata.labels?.['endpointslice.kubernetes.io/managed-by'] === BY_KUBERNETES;

/** Services, Endpoints and slices field by field, with their owners; Kubernetes makes new mirrored slices. */
async function contents(): Promise<object[]> {
  const [services, endpoints, slices] = await Promise.all([
    list<Service>('api/v1', 'services'),
    list<Endpoints>('api/v1', 'endpoints'),
    list<EndpointSlice>(SLICES, 'endpointslices'),
  ]);
  const sorted = (all: unknown[] | null | undefined): string[] =>
    (all ?? []).map((one) => JSON.stringify(one)).sort();
  const mirrored = slices
    .filter(isMirrored)
    .map(({ endpoints: of, ports }) => ({ of: sorted(of), ports: sorted(ports) }));
  const own = [...services, ...endpoints, ...slices.filter((one) => !isMirrored(one))];
  return [...own.map(steady), ...mirrored];
}

function steady({ metadata, ...rest }: KubeObject): object {
  const { resourceVersion: _, generation: __, managedFields = [], ...kept } = metadata;
  const owners = managedFields.map(({ time: ___, ...owner }) => owner);
  return { ...rest, metadata: { ...kept, owners } };
}

async function expectAnsweredHere(): Promise<void> {
  for (const name of ['first', 'second', 'third'])
    await expect(askHook(operator.cluster, name)).rejects.toThrow(/local on \d+ says no/);
}

const refusalIn = (events: DevloopEvent[]) => events.findLast((event) => event.type === 'error');

it.each(['SIGINT', 'SIGKILL'] as const)(
  'up --adopt takes them over, and after %s they are as before',
  async (end) => {
    const before = await contents();
    const planned = await dryRun(['--adopt', ...operator.up.slice(1)], {
      cwd: operator.directory,
      env: env(),
    });
    const object = { kind: 'Endpoints', namespace: HOOK_NAMESPACE, name: 'first' };
    expect(planned).toContainEqual(expect.objectContaining({ type: 'change', action: 'update', object }));
    expect(await contents()).toEqual(before);
    await using session = up('--adopt');
    await session.waitFor('session.ready');
    await expectAnsweredHere();
    session.signal(end);
    await session.exited;
    if (end === 'SIGKILL') {
      await using down = startDevloop(['down'], { cwd: tmpdir(), env: env() });
      expect(await down.exited, down.log()).toBe(0);
    } else expect(session.events.at(-1), session.log()).toMatchObject({ type: 'session.restored' });
    await eventually(async () => expect(await contents()).toEqual(before), 15_000);
  },
);

it('up refuses them with the commands that restore them, and works once these have run', async () => {
  for (const name of ['first', 'second']) {
    await using refused = up();
    expect(await refused.exited, refused.log()).toBe(2);
    const error = refusalIn(refused.events)!;
    const message = expect.stringMatching(`Service ${HOOK_NAMESPACE}/${name} .*${LAPTOP}:944`);
    expect(error).toMatchObject({ code: 'service.selectorless', message });
    const command = /kubectl --context .*$/m.exec(error.hint ?? '')![0];
    const { cluster: binary } = await ensureClusterBinaries({ log: () => {} });
    const kubectl = `kubectl() { ${binary} kubectl "$@"; }`;
    await run('bash', ['-c', `${kubectl}; ${command}`], { env: env() });
  }
  await using session = up();
  await session.waitFor('session.ready');
  await expectAnsweredHere();
  session.signal('SIGINT');
  await session.exited;
  await operator.expectRestored();
});

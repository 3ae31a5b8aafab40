import { beforeEach, expect, it } from 'vitest';
import { withNextCommands } from '../../../src/cli/next-commands.ts';
import type { ObjectRef } from '../../../src/cluster/api/kinds.ts';
import type {
  EndpointSlice,
  Lease,
  Service,
  WebhookConfiguration,
} from '../../../src/cluster/api/objects.ts';
import type { Pod, Workload } from '../../../src/cluster/api/workloads.ts';
import { HOLDER_ANNOTATION } from '../../../src/cluster/names.ts';
import { ourSlice } from '../../../src/cluster/takeover/endpoints.ts';
import { swapSelector } from '../../../src/cluster/takeover/service.ts';
import type { DevloopError } from '../../../src/errors.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { notice } from '../../../src/report/notices/catalogue.ts';
import { type DeadSession, restoreDead } from '../../../src/session/end/restore-dead.ts';
import { controllerSlice } from '../../support/controller-slice.ts';
import { type FakeCluster, fakeCluster, refusal } from '../../support/fake-cluster.ts';

const SERVICE = { kind: 'Service', namespace: 'shop', name: 'webhook' } as const;
let cluster: FakeCluster;
let events: DevloopEvent[];

/** A session that was killed during its first build: it has left only its Lease, and the operator answers. */
beforeEach(() => {
  events = [];
  cluster = fakeCluster();
  const metadata = { namespace: 'shop', name: 'webhook' };
  cluster.put<Service>('Service', { metadata, spec: { selector: { app: 'shop' }, ports: [{ port: 443 }] } });
  cluster.put<Lease>('Lease', {
    metadata: { namespace: 'shop', name: 'devloop.service.webhook', labels: { 'devloop.dev/session': 's1' } },
    spec: {},
  });
  cluster.put('ValidatingWebhookConfiguration', {
    metadata: { name: 'shop' },
    webhooks: [
      {
        name: 'services.shop.example.com',
        failurePolicy: 'Fail',
        clientConfig: { service: { namespace: 'shop', name: 'webhook' } },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['services'], operations: ['UPDATE'] }],
      },
    ],
  } as never);
});

function putReadySlice(): void {
  cluster.put<EndpointSlice>('EndpointSlice', {
    ...controllerSlice('webhook', ['10.0.0.1']),
    endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: true } }],
  });
}

function putManager(status: NonNullable<Workload['status']>): { ref: ObjectRef } {
  cluster.put<Workload>('Deployment', {
    metadata: { namespace: 'shop', name: 'manager' },
    spec: { replicas: 1, selector: {}, template: { spec: { containers: [] } } },
    status,
  });
  return { ref: { kind: 'Deployment', namespace: 'shop', name: 'manager' } };
}

async function restoreIt(session: Partial<DeadSession> = {}, managerReadySeconds = 0): Promise<unknown> {
  const { signal } = new AbortController();
  const work = {
    api: cluster.api,
    sessionId: 's1',
    emit: (event: DevloopEvent) => events.push(event),
    signal,
  };
  const target = async (): Promise<never> => {
    throw new Error('somebody answers instead of the operator');
  };
  const dead = {
    namespaces: ['shop'],
    taken: [{ ref: SERVICE }],
    mayAnswer: false,
    isAwaited: false,
    target,
    ...session,
  };
  return await restoreDead(work, dead, {} as never, { managerReadySeconds });
}

it('leaves an operator alone that fails closed, but was not changed and answers', async () => {
  putReadySlice();
  await restoreIt();
  expect(events.filter(({ type }) => type === 'note')).toEqual([]);
});

it('answers in place of an operator that fails closed, and has no Pod that is ready', async () => {
  await expect(restoreIt()).rejects.toMatchObject({ code: 'restore.blocked' });
});

it.each([true, false])(
  'a Service that was handed over is answered by its Pods as long as they are ready: %s',
  async (isReady) => {
    const service = cluster.read<Service>('Service', 'webhook', 'shop')!;
    const { signal } = new AbortController();
    const work = { api: cluster.api, sessionId: 's1', emit: () => {}, signal };
    await swapSelector(work, service, undefined);
    const to = { address: '10.1.0.1', ports: [{ name: '', port: 9443 }] };
    cluster.put<EndpointSlice>('EndpointSlice', ourSlice(service, 's1', to));
    cluster.put<Pod>('Pod', {
      metadata: { namespace: 'shop', name: 'manager-1', labels: { app: 'shop' } },
      status: { podIP: to.address, conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
    });
    const restoring = restoreIt();
    if (!isReady) return await expect(restoring).rejects.toMatchObject({ code: 'restore.blocked' });
    await restoring;
    expect(cluster.read<Service>('Service', 'webhook', 'shop')!.spec.selector).toEqual({ app: 'shop' });
  },
);

it.each(['ValidatingWebhookConfiguration *', 'Lease *'])(
  'waits for an API server that is away while it is asked for %s, since the answer decides the order',
  async (what) => {
    putReadySlice();
    let asked = 0;
    cluster.hook.before = (verb, one) => {
      if (verb === 'list' && one === what && ++asked === 1) throw refusal(503, 'ServiceUnavailable');
    };
    await restoreIt();
    expect(asked).toBeGreaterThan(1);
    expect(cluster.names('Lease')).toEqual([]);
  },
);

it('waits for the relay of the dead session to exit, also while the API server is away', async () => {
  const labels = { 'devloop.dev/session': 's1' };
  cluster.put('Pod', { metadata: { namespace: 'shop', name: 'devloop-relay-s1-ab12', labels } });
  let looks = 0;
  cluster.hook.before = (verb, what) => {
    if (!what.startsWith('Pod shop/')) return;
    // Its own webhook for Pods prevents the deletion.
    if (verb === 'remove') throw refusal(500, 'InternalError', 'failed calling webhook "pods"');
    if (verb === 'get' && ++looks === 1) throw refusal(503, 'ServiceUnavailable');
    if (looks === 2) cluster.drop('Pod', 'devloop-relay-s1-ab12', 'shop');
  };
  await expect(restoreIt()).rejects.toMatchObject({ code: 'restore.blocked' });
  expect(looks).toBe(2);
});

it('every command of the cure is for the cluster of the session', async () => {
  const metadata = { name: 'other' };
  const { webhooks } = cluster.read<WebhookConfiguration>('ValidatingWebhookConfiguration', 'shop')!;
  cluster.put('MutatingWebhookConfiguration', { metadata, webhooks } as never);
  const { hint, message } = await restoreIt().then(
    () => ({ hint: '', message: '' }),
    (error: DevloopError) => ({ hint: error.hint ?? '', message: error.message }),
  );
  const kubeconfig = '/tmp/my config';
  const typed = {
    name: 'devloop',
    command: 'down',
    flags: [{ long: '--kubeconfig', value: kubeconfig }],
    hasWords: false,
    own: [],
  };
  const event = withNextCommands(notice('error.further', { cause: message, next: hint }), typed, {
    kubeconfig,
  });
  const commands = (event.type === 'warning' && event.hint?.split(/ && |; /)) || [];
  expect(commands.map((one) => one.split(' ', 1)[0])).toEqual([
    'kubectl',
    'kubectl',
    'devloop',
    'kubectl',
    'kubectl',
  ]);
  for (const command of commands) expect(command).toContain(` --kubeconfig '${kubeconfig}' --context `);
});

it('waits for the manager that a killed down has resumed, as long as a Lease names it', async () => {
  putReadySlice();
  const { ref } = putManager({ readyReplicas: 0 });
  cluster.drop('ValidatingWebhookConfiguration', 'shop');
  let looks = 0;
  let isReady = false;
  cluster.hook = {
    before(verb, what) {
      if (what.startsWith('Lease') && verb === 'remove') expect(isReady).toBe(true);
      if (what !== 'Deployment shop/manager' || verb !== 'get' || ++looks < 4) return;
      isReady = true;
      putManager({ readyReplicas: 1 });
    },
  };
  await restoreIt({ taken: [{ ref: SERVICE }, { ref }], isAwaited: true }, 30);
  expect(isReady).toBe(true);
  expect(cluster.names('Lease')).toEqual([]);
});

it.each([true, false])(
  'an account that is not allowed to list the whole cluster searches where the Leases say, or refuses: %s',
  async (seesHub) => {
    cluster.drop('ValidatingWebhookConfiguration', 'shop');
    putReadySlice();
    const OPERATOR = { kind: 'Deployment', namespace: 'hub', name: 'operator' } as const;
    const holder = { user: 'ann', host: 'x', pid: 1, processStart: '', since: '', route: 'none', health: '' };
    cluster.edit<Lease>('Lease', 'devloop.service.webhook', 'shop', ({ metadata }) => {
      metadata.annotations = {
        [HOLDER_ANNOTATION]: JSON.stringify({ ...holder, targets: [SERVICE, OPERATOR] }),
      };
    });
    const labels = { 'devloop.dev/session': 's1', 'devloop.dev/replicas': '1' };
    cluster.put<Workload>('Deployment', {
      metadata: { namespace: 'hub', name: 'operator', labels },
      spec: { replicas: 0, selector: {}, template: { spec: { containers: [] } } },
    });
    cluster.hook.before = (verb, one) => {
      const isWide = one.endsWith(' *') && !one.includes('WebhookConfiguration');
      if (verb === 'list' && (isWide || (!seesHub && one === 'Deployment hub')))
        throw refusal(403, 'Forbidden', `${one} is forbidden`);
    };
    const restoring = restoreIt();
    if (!seesHub) await expect(restoring).rejects.toMatchObject({ code: 'cluster.forbidden' });
    await restoring.catch(() => {});
    expect(cluster.read<Workload>('Deployment', 'operator', 'hub')!.spec.replicas).toBe(seesHub ? 1 : 0);
    expect(cluster.read('Lease', 'devloop.service.webhook', 'shop') === undefined).toBe(seesHub);
  },
);

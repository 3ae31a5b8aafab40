import { beforeEach, expect, it } from 'vitest';
import { withNextCommands } from '../../../src/cli/next-commands.ts';
import type {
  EndpointSlice,
  Lease,
  Service,
  WebhookConfiguration,
} from '../../../src/cluster/api/objects.ts';
import type { DevloopError } from '../../../src/errors.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { restoreDead } from '../../../src/session/end/restore-dead.ts';
import { type FakeCluster, fakeCluster } from '../../support/fake-cluster.ts';

const SERVICE = { kind: 'Service', namespace: 'shop', name: 'webhook' } as const;
let cluster: FakeCluster;
let events: DevloopEvent[];

/** A session that was killed during its first build: nothing but its Lease is there, and the operator answers. */
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

async function restoreIt(): Promise<unknown> {
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
  const session = {
    namespaces: ['shop'],
    taken: [{ ref: SERVICE }],
    mayAnswer: false,
    isAwaited: false,
    target,
  };
  return await restoreDead(work, session, {} as never, { readySeconds: 0 });
}

it('leaves an operator alone that fails closed, but was not changed and answers', async () => {
  cluster.put<EndpointSlice>('EndpointSlice', {
    metadata: {
      namespace: 'shop',
      name: 'webhook-x',
      labels: {
        'kubernetes.io/service-name': 'webhook',
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      },
    },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: true } }],
    ports: [],
  });
  await restoreIt();
  expect(events.filter(({ type }) => type === 'note')).toEqual([]);
});

it('answers in place of an operator that fails closed, and has no Pod that is ready', async () => {
  await expect(restoreIt()).rejects.toMatchObject({ code: 'restore.blocked' });
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
    own: [],
  };
  const event = withNextCommands({ type: 'warning', message, hint }, typed, { kubeconfig });
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

import { expect, it } from 'vitest';
import { kindInfo } from '../../../src/cluster/api/kinds.ts';
import type { Service, WebhookConfiguration } from '../../../src/cluster/api/objects.ts';
import type { Permission } from '../../../src/cluster/api/permissions.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import { ANY_SESSION } from '../../../src/cluster/names.ts';
import type { PlannedChange, Step } from '../../../src/cluster/step.ts';
import { findMarked } from '../../../src/cluster/takeover/find-marked.ts';
import { type Holder, holdLease } from '../../../src/cluster/takeover/lease.ts';
import { deploymentPause } from '../../../src/cluster/takeover/pause/replicas.ts';
import { createProber } from '../../../src/cluster/takeover/probe.ts';
import { createProbeService } from '../../../src/cluster/takeover/probe-service.ts';
import {
  removeCreated,
  removeLeases,
  removeStandIns,
  restoreServices,
  restoreWebhookTimes,
  resumeManagers,
} from '../../../src/cluster/takeover/restore-steps.ts';
import { pointToAddress, pointToPods } from '../../../src/cluster/takeover/service.ts';
import { createStandIn } from '../../../src/cluster/takeover/stand-in.ts';
import { giveTime } from '../../../src/cluster/takeover/webhook-time.ts';
import type { Work } from '../../../src/cluster/work.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { objectText } from '../../../src/report/text.ts';
import { controllerSlice } from '../../support/controller-slice.ts';
import { type FakeCluster, fakeCluster } from '../../support/fake-cluster.ts';

const metadata = { name: 'hook', namespace: 'shop' };
const service: Service = { metadata, spec: { selector: { app: 'shop' }, ports: [{ port: 443 }] } };
const deployment: Workload = {
  metadata,
  spec: { replicas: 2, selector: {}, template: { spec: { containers: [] } } },
};
const webhook = { name: 'a.example.com', timeoutSeconds: 10, failurePolicy: 'Fail' };
const configuration: WebhookConfiguration = {
  metadata: { name: 'hooks' },
  webhooks: [{ ...webhook, clientConfig: {} }],
};
const probed = { namespace: 'shop', service: 'hook', port: 443, caBundle: '' };
const language = { path: (nonce: string) => `/${nonce}`, read: () => undefined };
const holder: Holder = {
  user: 'ann',
  host: 'here',
  pid: 1,
  processStart: '',
  since: '',
  route: '',
  targets: [],
  health: '',
};
const destination = { address: '10.0.0.7', ports: [{ name: '', port: 1 }] };

function step<T>(made: Step<T>, apply: (of: Step<T>['apply'], work: Work) => Promise<unknown>) {
  const { changes, permissions } = made;
  return { changes, permissions, apply: (work: Work) => apply(made.apply, work) };
}

const STEPS = {
  'points to Pods': step(pointToPods(service, { app: 'relay' }), (apply, work) => apply(work)),
  'points to an address': step(pointToAddress(service, 'this machine'), (apply, work) =>
    apply(work, () => destination),
  ),
  'pauses the manager': step(
    deploymentPause.pause({ ref: { kind: 'Deployment', ...metadata }, object: deployment }),
    (apply, work) => apply(work),
  ),
  'gives webhooks time': step(
    giveTime({ kind: 'ValidatingWebhookConfiguration', name: 'hooks' }, [webhook], { ignore: true })!,
    (apply, work) => apply(work),
  ),
  'holds a Lease': step(holdLease({ kind: 'Service', ...metadata }), async (apply, work) => {
    const held = await apply(work, holder);
    await held?.update({ health: 'serving' });
    await held?.[Symbol.asyncDispose]();
  }),
  'probes a Service': step(createProber(probed), async (apply, work) => {
    await using prober = await apply(work, language);
    await prober.once();
  }),
  'creates a Service to probe': step(createProbeService(service), async (apply, work) => {
    await using probe = await apply(work, { pods: { app: 'relay' } }, () => 1);
    await probe.follow();
  }),
  'stands in for a Pod': step(
    createStandIn({
      ref: { kind: 'Deployment', ...metadata },
      object: deployment,
      container: { name: 'manager' },
    }),
    async (apply, work) => (await apply(work))[Symbol.asyncDispose](),
  ),
};

/** The calls that the step made, and then those of its restore. */
async function callsOf(apply: (work: Work) => Promise<unknown>, events: DevloopEvent[]): Promise<string[]> {
  const cluster: FakeCluster = fakeCluster();
  cluster.put('Service', service);
  cluster.put('Deployment', deployment);
  cluster.put<WebhookConfiguration>('ValidatingWebhookConfiguration', structuredClone(configuration));
  cluster.put('EndpointSlice', controllerSlice('hook', []));
  cluster.put('Endpoints', { metadata });
  const emit = (event: DevloopEvent): void => void events.push(event);
  const work = { api: cluster.api, sessionId: 's1', emit, signal: new AbortController().signal };
  await apply(work);
  const made = [...cluster.calls];
  const { marked } = await findMarked(cluster.api, [], { sessionId: 's1' });
  cluster.calls.length = 0;
  await resumeManagers(
    work,
    marked.map(({ ref }) => ref),
    { seconds: 0 },
  );
  await restoreServices(work, marked);
  // As the endpoints controller does, once the selector is back.
  cluster.edit('Endpoints', 'hook', 'shop', (endpoints) => delete endpoints.metadata.labels);
  await removeCreated(work, marked);
  await restoreWebhookTimes(work, marked);
  await removeStandIns(work, marked);
  await removeLeases(work, marked);
  return [...made, ...cluster.calls];
}

const VERBS: Record<string, string> = { replace: 'update', remove: 'delete' };

function covers(permissions: Permission[], call: string): boolean {
  const [verb = '', kind = '', path = ''] = call.split(' ');
  // The list of a watch.
  if (verb === 'call')
    return permissions.some((one) => one.verb === 'list' && path.endsWith(`/${kindInfo(one.kind).plural}`));
  return permissions.some((one) => one.kind === kind && one.verb === (VERBS[verb] ?? verb));
}

it.each(Object.entries(STEPS))(
  'a step that %s needs no permissions but its own',
  async (_, { permissions, apply }) => {
    const calls = await callsOf(apply, []);
    expect(calls.length).toBeGreaterThan(1);
    expect(calls.filter((call) => !covers(permissions, call))).toEqual([]);
  },
);

const PUBLIC = [
  'points to Pods',
  'points to an address',
  'pauses the manager',
  'gives webhooks time',
] as const;

it.each(PUBLIC)('a step that %s plans the changes that it then makes', async (name) => {
  const events: DevloopEvent[] = [];
  await callsOf(STEPS[name].apply, events);
  const made = events.filter((event) => event.type === 'change' && event.action !== 'restore');
  const text = ({ action, object }: Pick<PlannedChange, 'action' | 'object'>): string =>
    `${action} ${objectText(object)}`;
  const planned = STEPS[name].changes
    .map(text)
    .map((one) => one.replace(ANY_SESSION, 's1').replace('hook-*', 'hook-x'));
  expect(new Set(made.map((event) => text(event as PlannedChange)))).toEqual(
    new Set(
      name === 'points to an address' ? [...planned, 'delete EndpointSlice shop/hook-devloop-s1'] : planned,
    ),
  );
});

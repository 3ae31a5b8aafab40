import { beforeEach, describe, expect, it } from 'vitest';
import type { EndpointSlice, Endpoints, Lease, Service } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import { sessionOf } from '../../../src/cluster/marks/marks.ts';
import { SESSION_LABEL, UNDO_ANNOTATION } from '../../../src/cluster/names.ts';
import { ourEndpoints, ourSlice } from '../../../src/cluster/takeover/endpoints.ts';
import { findMarked } from '../../../src/cluster/takeover/find-marked.ts';
import { deploymentPause } from '../../../src/cluster/takeover/pause/replicas.ts';
import {
  removeCreated,
  removeLeases,
  restoreServices,
  resumeManagers,
  waitUntilUnblocked,
} from '../../../src/cluster/takeover/restore-steps.ts';
import { pointToAddress } from '../../../src/cluster/takeover/service.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { controllerSlice } from '../../support/controller-slice.ts';
import { type FakeCluster, fakeCluster, refusal } from '../../support/fake-cluster.ts';

const to = { address: '10.0.0.7', ports: [{ name: '', port: 40001 }] };
const selector = { app: 'shop' };
let cluster: FakeCluster;
let events: DevloopEvent[];
const emit = (event: DevloopEvent): void => void events.push(event);
const work = (sessionId = 's1') => ({
  api: cluster.api,
  sessionId,
  emit,
  signal: new AbortController().signal,
});
const service = (): Service => cluster.read<Service>('Service', 'webhook-service', 'shop')!;

beforeEach(() => {
  events = [];
  cluster = fakeCluster();
  const metadata = { name: 'webhook-service', namespace: 'shop' };
  cluster.put<Service>('Service', { metadata, spec: { selector, ports: [{ port: 443, targetPort: 9443 }] } });
  cluster.put<Endpoints>('Endpoints', {
    metadata: { ...metadata, labels: { app: 'shop' } },
    subsets: [{ addresses: [{ ip: '10.1.1.1' }], ports: [{ port: 9443 }] }],
  });
  cluster.put('EndpointSlice', controllerSlice('webhook-service', ['10.1.1.1']));
  cluster.put<Workload>('Deployment', {
    metadata: { name: 'manager', namespace: 'shop' },
    spec: { replicas: 2, selector: {}, template: { spec: { containers: [{ name: 'manager' }] } } },
  });
});

async function takeOver(session: string): Promise<void> {
  await pointToAddress(service(), '').apply(work(session), () => to);
  const object = cluster.read<Workload>('Deployment', 'manager', 'shop')!;
  const ref = { kind: 'Deployment', namespace: 'shop', name: 'manager' } as const;
  await deploymentPause.pause({ ref, object }).apply(work(session));
}

async function restoreAll(sessionId: string): Promise<void> {
  const { marked } = await findMarked(cluster.api, [], { sessionId });
  await resumeManagers(
    work(sessionId),
    marked.map(({ ref }) => ref),
    { seconds: 0 },
  );
  await restoreServices(work(sessionId), marked);
  await removeCreated(work(sessionId), marked);
  await removeLeases(work(sessionId), marked);
}

describe('a take-over and its restoration', () => {
  it('deletes no webhook configuration and no Lease of the user that has the label', async () => {
    const labels = { [SESSION_LABEL]: 's1' };
    cluster.put('ValidatingWebhookConfiguration', { metadata: { name: 'shop', labels } });
    cluster.put('Lease', { metadata: { name: 'leader', namespace: 'shop', labels } });
    await takeOver('s1');
    await restoreAll('s1');
    expect(cluster.names('ValidatingWebhookConfiguration')).toEqual(['shop']);
    expect(cluster.names('Lease')).toEqual(['leader']);
  });

  it('points the Service to this machine alone, and leaves nothing behind', async () => {
    const before = {
      spec: service().spec,
      deployment: cluster.read<Workload>('Deployment', 'manager', 'shop')!.spec,
    };
    await takeOver('s1');
    expect(service().spec.selector).toBeUndefined();
    expect(cluster.read('EndpointSlice', 'webhook-service-x', 'shop')).toMatchObject({ endpoints: [] });
    expect(
      cluster.read<EndpointSlice>('EndpointSlice', 'webhook-service-devloop-s1', 'shop')?.endpoints?.[0]
        ?.addresses,
    ).toEqual(['10.0.0.7']);
    expect(cluster.read<Endpoints>('Endpoints', 'webhook-service', 'shop')?.subsets?.[0]?.addresses).toEqual([
      { ip: '10.0.0.7' },
    ]);
    await restoreAll('s1');
    expect(service().spec).toEqual(before.spec);
    expect(cluster.read<Workload>('Deployment', 'manager', 'shop')!.spec).toEqual(before.deployment);
    expect((await findMarked(cluster.api, [])).marked).toEqual([]);
  }, 10_000);

  it('is restored completely after an interruption at any write', async () => {
    const specs = {
      service: service().spec,
      deployment: cluster.read<Workload>('Deployment', 'manager', 'shop')!.spec,
    };
    for (let writes = 0; writes < 6; writes++) {
      let left = writes;
      cluster.hook = {
        before: (verb) => {
          if (['create', 'replace', 'patch', 'remove'].includes(verb) && left-- <= 0)
            throw refusal(403, 'Forbidden', 'cut off');
        },
      };
      await takeOver(`s${writes}`).catch(() => {});
      cluster.hook = {};
      const { marked } = await findMarked(cluster.api, []);
      await resumeManagers(
        work(`s${writes}`),
        marked.map(({ ref }) => ref),
        { seconds: 0 },
      );
      await restoreServices(work(`s${writes}`), marked);
      expect(service().spec).toEqual(specs.service);
      expect(cluster.read<Workload>('Deployment', 'manager', 'shop')!.spec).toEqual(specs.deployment);
      for (const { ref, object } of marked)
        if (ref.kind === 'EndpointSlice' || ref.kind === 'Endpoints')
          await cluster.api.remove(ref, object.metadata.uid);
      expect((await findMarked(cluster.api, [])).marked).toEqual([]);
    }
  });

  it('fails only after all its writes have finished', async () => {
    let slow = 0;
    cluster.hook = {
      async before(verb, what) {
        if (verb === 'create' && what.startsWith('EndpointSlice'))
          throw refusal(403, 'Forbidden', 'no slices here');
        if (verb !== 'replace') return;
        slow++;
        await new Promise((resolve) => setTimeout(resolve, 50));
        slow--;
      },
    };
    await expect(pointToAddress(service(), '').apply(work(), () => to)).rejects.toMatchObject({
      code: 'cluster.forbidden',
    });
    expect(slow).toBe(0);
    expect(cluster.read('Endpoints', 'webhook-service', 'shop')?.metadata.labels?.[SESSION_LABEL]).toBe('s1');
  });

  it('writes Endpoints although their controller creates them at the same moment', async () => {
    cluster.drop('Endpoints', 'webhook-service', 'shop');
    let once = true;
    cluster.hook = {
      before(verb, what) {
        if (verb === 'create' && what.startsWith('Endpoints ') && once)
          cluster.put<Endpoints>('Endpoints', { metadata: { name: 'webhook-service', namespace: 'shop' } });
        if (verb === 'create' && what.startsWith('Endpoints ')) once = false;
      },
    };
    await pointToAddress(service(), '').apply(work(), () => to);
    expect(cluster.read<Endpoints>('Endpoints', 'webhook-service', 'shop')?.subsets?.[0]?.addresses).toEqual([
      { ip: '10.0.0.7' },
    ]);
  });

  it('points here in one change that kube-proxy sees, before any slice is created or emptied', async () => {
    const seen: string[] = [];
    cluster.hook = {
      before(verb, what) {
        const slice = cluster.read<EndpointSlice>('EndpointSlice', 'webhook-service-x', 'shop');
        if (!['get', 'list'].includes(verb))
          seen.push(`${verb} ${what}, ${slice?.endpoints?.[0]?.addresses}`);
      },
    };
    await pointToAddress(service(), '').apply(work(), () => to);
    expect(seen).toEqual([
      'replace Endpoints shop/webhook-service, 10.1.1.1',
      'patch Service shop/webhook-service, 10.1.1.1',
      'replace EndpointSlice shop/webhook-service-x, 10.1.1.1',
      'create EndpointSlice shop/webhook-service-devloop-s1, 10.0.0.7',
      'replace EndpointSlice shop/webhook-service-x, 10.0.0.7',
    ]);
  });

  it.each([404, 409])(
    'goes on where a slice of the controllers changes at the same moment (%i)',
    async (status) => {
      // The first write would point the slice here, and the second one would empty it.
      let refusals = 2;
      cluster.hook = {
        before(verb, what) {
          if (verb === 'replace' && what.startsWith('EndpointSlice') && refusals-- > 0)
            throw refusal(status, 'Stale', 'stale');
        },
      };
      await pointToAddress(service(), '').apply(work(), () => to);
      expect(cluster.read('EndpointSlice', 'webhook-service-devloop-s1', 'shop')).toBeDefined();
      expect(cluster.read('EndpointSlice', 'webhook-service-x', 'shop')).toMatchObject({ endpoints: [] });
    },
  );

  it('refuses a Service whose selector somebody else has just changed', async () => {
    const seen = service();
    cluster.edit<Service>(
      'Service',
      'webhook-service',
      'shop',
      (object) => (object.spec.selector = { app: 'other' }),
    );
    await expect(pointToAddress(seen, '').apply(work(), () => to)).rejects.toMatchObject({
      code: 'change.conflict',
    });
    expect(sessionOf(service())).toBeUndefined();
  });
});

describe('restoring Services', () => {
  it('never deletes a Service of the user, even without its undo annotation', async () => {
    await pointToAddress(service(), '').apply(work(), () => to);
    cluster.edit<Service>(
      'Service',
      'webhook-service',
      'shop',
      (object) => delete object.metadata.annotations![UNDO_ANNOTATION],
    );
    const { marked } = await findMarked(cluster.api, [], { sessionId: 's1' });
    const left = await restoreServices(work(), marked);
    expect(service()).toBeDefined();
    expect(left.flatMap((one) => one.kept)).toEqual([{ fault: 'devloop.dev/undo is missing' }]);
  });

  it('deletes the Service that was created for a probe', async () => {
    cluster.put<Service>('Service', {
      metadata: { name: 'devloop-probe-s1', namespace: 'shop', labels: { [SESSION_LABEL]: 's1' } },
      spec: {},
    });
    await restoreServices(work(), (await findMarked(cluster.api, [], { sessionId: 's1' })).marked);
    expect(cluster.read('Service', 'devloop-probe-s1', 'shop')).toBeUndefined();
  });

  it('keeps and reports a selector that somebody else has set', async () => {
    await pointToAddress(service(), '').apply(work(), () => to);
    cluster.edit<Service>(
      'Service',
      'webhook-service',
      'shop',
      (object) => (object.spec.selector = { app: 'new' }),
    );
    const [left] = await restoreServices(
      work(),
      (await findMarked(cluster.api, [], { sessionId: 's1' })).marked,
    );
    expect(left?.kept).toEqual([{ path: ['spec', 'selector'], now: { app: 'new' }, before: selector }]);
    expect(service().spec.selector).toEqual({ app: 'new' });
    expect(sessionOf(service())).toBeUndefined();
  });
});

describe('a manager whose Pods are refused because a webhook does not answer', () => {
  const ref = { kind: 'Deployment', namespace: 'shop', name: 'manager' } as const;
  const left = [{ ref, kept: [], isBlocked: true }];
  const message = 'Internal error occurred: failed calling webhook "v.shop": connection refused';
  const refused = [{ type: 'ReplicaFailure', status: 'True', message }];
  const edit = (conditions: typeof refused): void =>
    void cluster.edit<Workload>('Deployment', 'manager', 'shop', (one) => (one.status = { conditions }));

  it('is no success, however long it is waited for', async () => {
    edit(refused);
    const impatient = { ...work(), signal: AbortSignal.timeout(300) };
    await expect(waitUntilUnblocked(impatient, left)).rejects.toMatchObject({
      code: 'restore.blocked',
      message: expect.stringContaining(message),
    });
  });

  it('is waited for until they are created', async () => {
    edit(refused);
    setTimeout(() => edit([]), 100);
    await waitUntilUnblocked(work(), left);
    expect(cluster.read<Workload>('Deployment', 'manager', 'shop')?.status?.conditions).toEqual([]);
  });
});

describe('deleting what was created', () => {
  it('does not delete another object with the same name', async () => {
    const slice = cluster.put('EndpointSlice', ourSlice(service(), 's1', to));
    const { marked } = await findMarked(cluster.api, [], { sessionId: 's1' });
    cluster.drop('EndpointSlice', slice.metadata.name, 'shop');
    cluster.put('EndpointSlice', ourSlice(service(), 's1', to));
    await removeCreated(work(), marked);
    expect(cluster.read('EndpointSlice', slice.metadata.name, 'shop')).toBeDefined();
  });

  it('leaves Endpoints alone that Kubernetes has overwritten, and deletes those that it has not', async () => {
    const existing = cluster.read<Endpoints>('Endpoints', 'webhook-service', 'shop');
    await cluster.api.replace(
      { kind: 'Endpoints', namespace: 'shop', name: 'webhook-service' },
      ourEndpoints(service(), 's1', to, existing),
    );
    const { marked } = await findMarked(cluster.api, [], { sessionId: 's1' });
    cluster.edit<Endpoints>(
      'Endpoints',
      'webhook-service',
      'shop',
      (object) => (object.metadata.labels = {}),
    );
    await removeCreated(work(), marked);
    expect(cluster.read('Endpoints', 'webhook-service', 'shop')).toBeDefined();
    cluster.edit<Endpoints>(
      'Endpoints',
      'webhook-service',
      'shop',
      (object) => (object.metadata.labels = { [SESSION_LABEL]: 's1' }),
    );
    await removeCreated(work(), marked);
    expect(cluster.read('Endpoints', 'webhook-service', 'shop')).toBeUndefined();
  }, 10_000);

  it('deletes only the Leases of its own session', async () => {
    const lease = (name: string, session: string): Lease => ({
      metadata: { name, namespace: 'shop', labels: { [SESSION_LABEL]: session } },
      spec: {},
    });
    cluster.put('Lease', lease('devloop.service.a', 's1'));
    cluster.put('Lease', lease('devloop.service.b', 's2'));
    await removeLeases(work(), (await findMarked(cluster.api, [], { sessionId: 's1' })).marked);
    expect(cluster.read('Lease', 'devloop.service.a', 'shop')).toBeUndefined();
    expect(cluster.read('Lease', 'devloop.service.b', 'shop')).toBeDefined();
  });
});

describe('findMarked', () => {
  it('searches the given namespaces where the whole cluster cannot be listed, and returns what it could not see', async () => {
    await pointToAddress(service(), '').apply(work(), () => to);
    cluster.hook = {
      before: (_verb, what) => {
        if (what.endsWith(' *') || what === 'EndpointSlice shop') throw refusal(403, 'Forbidden');
      },
    };
    const { marked, unseen } = await findMarked(cluster.api, ['shop'], { sessionId: 's1' });
    expect(marked.map((one) => one.ref.kind).sort()).toEqual(['Endpoints', 'Service']);
    expect(unseen).toEqual([
      { kind: 'EndpointSlice', namespace: 'shop' },
      { kind: 'ValidatingWebhookConfiguration' },
      { kind: 'MutatingWebhookConfiguration' },
    ]);
  });

  it('fails when a list fails for another reason', async () => {
    cluster.hook = {
      before: (_verb, what) => {
        if (what.startsWith('Service')) throw refusal(503, 'ServiceUnavailable');
      },
    };
    await expect(findMarked(cluster.api, [])).rejects.toMatchObject({ status: 503 });
  });
});

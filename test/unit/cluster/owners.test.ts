import { beforeEach, describe, expect, it } from 'vitest';
import type { ObjectRef } from '../../../src/cluster/api/kinds.ts';
import type { KubeObject, ManagedFields, Service } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import { applyChange, restoreChange } from '../../../src/cluster/marks/change.ts';
import { isOwner, ownersOf, withoutDevloop } from '../../../src/cluster/marks/owners.ts';
import { SELECTOR } from '../../../src/cluster/marks/selector.ts';
import { relayLabels, SESSION_LABEL, UNDO_ANNOTATION } from '../../../src/cluster/names.ts';
import { deploymentPause } from '../../../src/cluster/takeover/pause/replicas.ts';
import { type FakeCluster, fakeCluster, refusal } from '../../support/fake-cluster.ts';

const LONG_AGO = '2026-01-01T00:00:00Z';
const LATER = '2026-01-01T00:00:09Z';

function entry(manager: string, fieldsV1: object, rest: Partial<ManagedFields> = {}): ManagedFields {
  return {
    manager,
    operation: 'Apply',
    apiVersion: 'v1',
    time: LONG_AGO,
    fieldsType: 'FieldsV1',
    ...rest,
    fieldsV1,
  };
}

const devloop = (fieldsV1: object): ManagedFields =>
  entry('devloop', fieldsV1, { operation: 'Update', time: LATER });
const withFields = (managedFields?: ManagedFields[]): KubeObject => ({
  metadata: { name: 'hook', ...(managedFields && { managedFields }) },
});

describe('the managedFields without devloop', () => {
  const selector = ['spec', 'selector'];
  const PORTS = { 'f:spec': { 'f:ports': {} } };
  const SELECTED = { 'f:spec': { 'f:selector': {} } };
  const BOTH = { 'f:spec': { 'f:ports': {}, 'f:selector': {} } };
  const [owner] = ownersOf(withFields([entry('kubectl', SELECTED)]), selector);
  const after = (managedFields: ManagedFields[], owners = [owner!]) =>
    withoutDevloop(withFields(managedFields), [{ path: selector, owners }]);

  it('name the owners of before again: in their entries as they are, or in the same entries made again', () => {
    expect(after([entry('kubectl', PORTS), devloop(SELECTED)])).toEqual([entry('kubectl', BOTH)]);
    const other = entry('kube-controller-manager', {}, { operation: 'Update', subresource: 'status' });
    expect(after([other, devloop(SELECTED)])).toEqual([other, entry('kubectl', SELECTED)]);
    const second = { ...owner!, manager: 'helm' };
    expect(after([devloop(SELECTED)], [owner!, second])).toEqual([
      entry('kubectl', SELECTED),
      entry('helm', SELECTED),
    ]);
    const scaler = { manager: 'kubectl', operation: 'Update', apiVersion: 'v1', subresource: 'scale' };
    expect(after([entry('kubectl', PORTS), devloop(SELECTED)], [scaler])).toEqual([
      entry('kubectl', PORTS),
      { ...scaler, fieldsType: 'FieldsV1', fieldsV1: SELECTED },
    ]);
  });

  it('name nobody for a field whose owner is unknown, or has written since, or in another version', () => {
    expect(after([entry('kubectl', PORTS), devloop(SELECTED)], [])).toEqual([entry('kubectl', PORTS)]);
    for (const changed of [{ time: LATER }, { apiVersion: 'v2' }]) {
      const since = entry('kubectl', PORTS, changed);
      expect(after([since, devloop(SELECTED)])).toEqual([since]);
    }
  });

  it('give away only what devloop owns', () => {
    const now = entry('kubectl-edit', SELECTED, { operation: 'Update', time: LATER });
    const labels = devloop({ 'f:metadata': { 'f:labels': { '.': {} } } });
    expect(after([entry('kubectl', PORTS), now, labels])).toEqual([entry('kubectl', PORTS), now]);
    expect(after([entry('kubectl', PORTS), now])).toBeUndefined();
    expect(withoutDevloop(withFields(), [{ path: selector, owners: [owner!] }])).toBeUndefined();
    // Somebody who applies under this name is not devloop, which never applies.
    expect(after([entry('devloop', SELECTED)])).toBeUndefined();
  });

  it('find an entry of a list by its name, and an atomic map from a key in it', () => {
    const webhook = (fields: object) => ({ 'f:webhooks': { 'k:{"name":"a.example.com"}': fields } });
    const path = ['webhooks', 'a.example.com', 'timeoutSeconds'];
    const before = entry('helm', webhook({ '.': {}, 'f:name': {}, 'f:timeoutSeconds': {} }));
    const meanwhile = entry('helm', webhook({ '.': {}, 'f:name': {} }));
    const owners = ownersOf(withFields([before]), path);
    const taken = withFields([meanwhile, devloop(webhook({ 'f:timeoutSeconds': {} }))]);
    expect(withoutDevloop(taken, [{ path, owners }])).toEqual([before]);
    const nodes = { 'f:spec': { 'f:nodeSelector': {} } };
    const key = ['spec', 'nodeSelector', 'devloop.dev/paused'];
    const [it] = ownersOf(withFields([entry('kubectl', nodes)]), key);
    expect(withoutDevloop(withFields([devloop(nodes)]), [{ path: key, owners: [it!] }])).toEqual([
      entry('kubectl', nodes),
    ]);
  });
});

it('an owner of an undo is believed only if the API server would take it', () => {
  const owner = { manager: 'kubectl', operation: 'Update', apiVersion: 'v1', time: LONG_AGO };
  expect(isOwner(owner)).toBe(true);
  expect(isOwner({ ...owner, subresource: 'scale', time: undefined })).toBe(true);
  const wrong = [
    ...[{ manager: '' }, { manager: 'a\nb' }, { manager: 'a'.repeat(129) }, { manager: 7 }],
    ...[{ operation: 'Delete' }, { apiVersion: undefined }, { subresource: 7 }],
    ...[{ time: 'now' }, { time: 7 }, { time: '2026-13-01T00:00:00Z' }, { time: `${LONG_AGO}x` }],
  ];
  for (const one of [...wrong.map((part) => ({ ...owner, ...part })), null, 7, 'kubectl', [], {}])
    expect([one, isOwner(one)]).toEqual([one, false]);
});

describe('after a restore', () => {
  const hook: ObjectRef = { kind: 'Service', namespace: 'shop', name: 'hook' };
  const manager: ObjectRef = { kind: 'Deployment', namespace: 'shop', name: 'manager' };
  const applier = { manager: 'kubectl', isForced: false };
  const REPLICAS = ['spec', 'replicas'];
  let cluster: FakeCluster;
  const work = (sessionId = 's1') => ({
    api: cluster.as('devloop'),
    sessionId,
    emit: () => {},
    signal: new AbortController().signal,
  });
  const read = (ref = hook): KubeObject => cluster.read(ref.kind, ref.name, ref.namespace)!;
  const managersOf = (object: KubeObject): string[] =>
    (object.metadata.managedFields ?? []).map((one) => one.manager);
  const patches = (): number => cluster.calls.filter((call) => call.startsWith('patch')).length;
  const takeOver = (value?: Record<string, string>): Promise<void> =>
    applyChange(work(), {
      ref: hook,
      fields: [{ path: ['spec', 'selector'], ...(value && { value }) }],
      detail: '',
    });
  const restore = () => restoreChange(work(), hook, SELECTOR);

  beforeEach(async () => {
    cluster = fakeCluster();
    const metadata = (ref: ObjectRef) => ({ name: ref.name, namespace: 'shop' });
    await cluster.as('helm').create<Service>(hook, {
      metadata: metadata(hook),
      spec: { ports: [{ port: 443 }], selector: { app: 'shop' } },
    });
    const template = { metadata: { labels: { app: 'shop' } }, spec: { containers: [] } };
    await cluster.as('helm').create<Workload>(manager, {
      metadata: metadata(manager),
      spec: { replicas: 2, selector: {}, template },
    });
    cluster.apply(hook, { spec: { selector: { app: 'shop' } } }, applier);
    for (const ref of [hook, manager])
      cluster.edit(ref.kind, ref.name, ref.namespace, ({ metadata: { managedFields } }) => {
        for (const one of managedFields!) one.time = LONG_AGO;
      });
  });

  it.each([
    ['removed', undefined],
    ['replaced', relayLabels('s1')],
  ])(
    'a selector that was %s has its owners again, two of them, and an apply meets no conflict',
    async (_, to) => {
      const before = read();
      await takeOver(to);
      expect(managersOf(read())).toContain('devloop');
      expect(await restore()).toEqual([]);
      expect(read().metadata.managedFields).toEqual(before.metadata.managedFields);
      expect(patches()).toBe(3);
    },
  );

  const pauseManager = async (): Promise<void> => {
    await deploymentPause.pause({ ref: manager, object: read(manager) as Workload }).apply(work());
  };

  it('the replicas of a Deployment, whose label keeps the ids of their owners, have all of them again', async () => {
    cluster.apply(manager, { spec: { replicas: 2, selector: {} } }, applier);
    const before = read(manager);
    await pauseManager();
    expect(ownersOf(read(manager), REPLICAS)).toEqual([]);
    expect(read(manager).metadata.labels).toMatchObject({
      'devloop.dev/replicas': expect.stringMatching(/^2(-[0-9a-f]{8}){2}$/),
    });
    await deploymentPause.restore(work(), manager);
    expect(ownersOf(before, REPLICAS)).toHaveLength(2);
    expect(read(manager).metadata.managedFields).toEqual(before.metadata.managedFields);
  });

  it('the replicas of a Deployment that its own webhook blocks have their owner again', async () => {
    const before = read(manager);
    await pauseManager();
    // As the subresource `scale` does it, which webhooks do not review.
    await work().api.patch(manager, 'merge', { spec: { replicas: 2 } });
    await deploymentPause.restore(work(), manager);
    expect(read(manager).metadata.managedFields).toEqual(before.metadata.managedFields);
  });

  it.each([
    ['has written since', LATER],
    ['owned nothing else, so that its entry is gone', undefined],
  ])('the replicas of a Deployment whose owner %s have none', async (_, time) => {
    await pauseManager();
    cluster.edit('Deployment', 'manager', 'shop', ({ metadata }) => {
      const others = metadata.managedFields!.filter((one) => one.manager === 'devloop');
      const helm = metadata.managedFields!.filter((one) => one.manager === 'helm');
      metadata.managedFields = [...others, ...(time ? helm.map((one) => ({ ...one, time })) : [])];
    });
    await deploymentPause.restore(work(), manager);
    expect(ownersOf(read(manager), REPLICAS)).toEqual([]);
    expect(managersOf(read(manager))).not.toContain('devloop');
    cluster.apply(manager, { spec: { replicas: 3 } }, applier);
    expect(read(manager)).toMatchObject({ spec: { replicas: 3 } });
  });

  it('what a merge of others left beside ours is theirs', async () => {
    await takeOver(relayLabels('s1'));
    const merged = { ...relayLabels('s1'), app: 'new' };
    await cluster.as('kubectl-client-side-apply').patch(hook, 'merge', { spec: { selector: merged } });
    const theirs = read().metadata.managedFields!.find((one) => one.manager.startsWith('kubectl-client'));
    expect(await restore()).toMatchObject([{ now: { app: 'new' } }]);
    expect(read().metadata.managedFields).toContainEqual(theirs);
    expect(managersOf(read())).not.toContain('devloop');
  });

  it('others may write in between, and the mark of another session stays its own', async () => {
    await takeOver();
    let writes = 0;
    cluster.onChange = ({ by }) => {
      if (by !== 'devloop' || writes++ > 1) return;
      cluster.edit('Service', 'hook', 'shop', ({ metadata }) => (metadata.annotations = { other: 'yes' }));
    };
    await restore();
    expect(managersOf(read())).not.toContain('devloop');
    expect(read().metadata.annotations).toEqual({ other: 'yes' });
    await takeOver();
    cluster.onChange = ({ object }) => {
      if (object.metadata.labels?.[SESSION_LABEL] !== undefined) return;
      cluster.onChange = () => {};
      cluster.edit(
        'Service',
        'hook',
        'shop',
        ({ metadata }) => (metadata.labels = { [SESSION_LABEL]: 's2' }),
      );
    };
    await restore();
    expect(managersOf(read())).toContain('devloop');
  });

  it.each([403, 409, 422, 500])(
    'HTTP %i to the second write fails nothing, and devloop stays',
    async (status) => {
      await takeOver();
      let restored = false;
      cluster.onChange = () => (restored = true);
      cluster.hook = {
        before: (verb) => {
          if (verb === 'patch' && restored) throw refusal(status, 'No');
        },
      };
      expect(await restore()).toEqual([]);
      expect(read()).toMatchObject({ spec: { selector: { app: 'shop' } } });
      expect(read().metadata.labels).toBeUndefined();
      expect(managersOf(read())).toContain('devloop');
    },
  );

  it('an answer to the first write that is lost does not keep the second one from being made', async () => {
    const before = read();
    await takeOver();
    let lost = 0;
    cluster.hook = {
      after: (verb) => {
        if (verb === 'patch' && lost++ === 0) throw refusal(503, 'Away');
      },
    };
    await restore();
    expect(read().metadata.managedFields).toEqual(before.metadata.managedFields);
  });

  it('an undo without owners, or with impossible ones, is carried out, and nobody owns the field', async () => {
    for (const owners of [undefined, 'kubectl', [null, { manager: 'kubectl', operation: 'Own' }]]) {
      await takeOver();
      cluster.edit('Service', 'hook', 'shop', ({ metadata }) => {
        const undo = JSON.parse(metadata.annotations![UNDO_ANNOTATION]!);
        undo.fields[0].owners = owners;
        metadata.annotations![UNDO_ANNOTATION] = JSON.stringify(undo);
      });
      expect(await restore()).toEqual([]);
      expect(ownersOf(read(), ['spec', 'selector'])).toEqual([]);
      expect(managersOf(read())).not.toContain('devloop');
    }
  });
});

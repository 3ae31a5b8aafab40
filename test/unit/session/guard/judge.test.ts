import { describe, expect, it } from 'vitest';
import type { KubeObject, ManagedFields, Metadata, Service } from '../../../../src/cluster/api/objects.ts';
import { changePatch, type FieldChange } from '../../../../src/cluster/marks/marks.ts';
import { SELECTOR } from '../../../../src/cluster/marks/selector.ts';
import { undoOf } from '../../../../src/cluster/marks/undo.ts';
import { SESSION_LABEL } from '../../../../src/cluster/names.ts';
import { ownChangeOf } from '../../../../src/cluster/takeover/restore-steps.ts';
import { judge } from '../../../../src/session/guard/judge.ts';
import { applyJsonPatch } from '../../../support/json-patch.ts';

const SESSION = 'abc';
const LABELS = { app: 'shop' };

const service = (selector?: Record<string, string>, metadata: Partial<Metadata> = {}): Service => ({
  metadata: { name: 'hook', namespace: 'shop', resourceVersion: '1', ...metadata },
  spec: selector === undefined ? {} : { selector },
});

/** The Service as a session leaves it. */
function changed(): Service {
  const before = service(LABELS);
  return applyJsonPatch(before, changePatch(before, SESSION, [{ path: ['spec', 'selector'] }]));
}

function judged(object: Service | undefined, changes: FieldChange[] | undefined) {
  return judge(object, { sessionId: SESSION, own: SELECTOR, changes });
}

const selectorBy = (manager: string): ManagedFields => ({
  manager,
  operation: 'Update',
  apiVersion: 'v1',
  time: '2026-01-01T00:00:00Z',
  fieldsV1: { 'f:spec': { 'f:selector': {} } },
});

it('a key that was removed has no writer: it is overwritten beside a mark, and restored without one or beside one that says so', () => {
  const path = ['spec', 'nodeSelector', 'paused'];
  const own = {
    ...SELECTOR,
    fields: [{ path, isOwn: () => true }],
    isResuming: ({ metadata }: KubeObject) => metadata.labels?.state === 'resuming',
  };
  const before = service();
  const paused = applyJsonPatch(before, changePatch(before, SESSION, [{ path, value: 'true' }]));
  const changes = undoOf(paused, own) as FieldChange[];
  const is = (metadata: Metadata) =>
    judge({ ...service(), metadata }, { sessionId: SESSION, own, changes }).is;
  expect(is(paused.metadata)).toBe('overwritten');
  expect(is({ ...paused.metadata, labels: { ...paused.metadata.labels, state: 'resuming' } })).toBe(
    'restored',
  );
  expect(is(before.metadata)).toBe('restored');
});

it('an object in which nothing was changed may lose its mark: a devloop down elsewhere removes it', () => {
  const own = ownChangeOf('Deployment')!;
  const before = {
    metadata: { name: 'manager', namespace: 'shop', resourceVersion: '1' },
    spec: { replicas: 0 },
  };
  const path = ['spec', 'replicas'];
  const paused: KubeObject = applyJsonPatch(
    before,
    changePatch(before, SESSION, [{ path, value: 0 }], own.store),
  );
  const changes = undoOf(paused, own) as FieldChange[];
  const is = (object: KubeObject) => judge(object, { sessionId: SESSION, own, changes }).is;
  expect(is(paused)).toBe('intact');
  expect(is(before)).toBe('intact');
  const { [SESSION_LABEL]: _, ...half } = paused.metadata.labels!;
  expect(is({ ...paused, metadata: { ...paused.metadata, labels: half } })).toBe('overwritten');
  expect(is({ ...before, spec: { replicas: 2 } } as KubeObject)).toBe('overwritten');
});

describe('an object of the session is', () => {
  const ours = changed();
  const undo = undoOf(ours, SELECTOR) as FieldChange[];

  it('left alone before the session has changed it, and as the session left it', () => {
    expect(judged(service(LABELS), undefined)).toEqual({ is: 'intact' });
    expect(judged(ours, undo)).toEqual({ is: 'intact' });
    const others = {
      ...ours,
      metadata: { ...ours.metadata, annotations: { ...ours.metadata.annotations, a: 'b' } },
    };
    expect(judged(others, undo)).toEqual({ is: 'intact' });
  });

  it('gone when it is deleted or being deleted', () => {
    expect(judged(undefined, undo)).toEqual({ is: 'gone' });
    expect(judged(service(LABELS, { deletionTimestamp: 'now' }), undo)).toEqual({ is: 'gone' });
  });

  it('overwritten when a field differs, with the difference', () => {
    const managedFields = [selectorBy('kubectl'), { manager: 'devloop', operation: 'Update' }];
    const applied = { metadata: { ...ours.metadata, managedFields }, spec: { selector: LABELS } };
    expect(judged(applied, undo)).toMatchObject({
      is: 'overwritten',
      fields: [
        {
          path: ['spec', 'selector'],
          ours: undefined,
          now: LABELS,
          by: { manager: 'kubectl', operation: 'Update' },
        },
      ],
    });
  });

  it('overwritten when its undo is removed or changed: that text is never believed', () => {
    const { annotations: _, ...metadata } = ours.metadata;
    const undoGone = [{ path: ['metadata', 'annotations', 'devloop.dev/undo'] }];
    expect(judged({ ...ours, metadata }, undo)).toMatchObject({ is: 'overwritten', fields: undoGone });
    const forged = JSON.stringify({ v: 1, fields: [{ path: ['spec', 'externalIPs'], after: ['1.2.3.4'] }] });
    const other = { ...ours, metadata: { ...metadata, annotations: { 'devloop.dev/undo': forged } } };
    expect(judged(other, undo)).toMatchObject({ is: 'overwritten', fields: undoGone });
  });

  it('restored when another devloop has written the values from before and removed the mark', () => {
    const managedFields = [selectorBy('devloop')];
    expect(judged(service(LABELS, { managedFields }), undo)).toEqual({ is: 'restored' });
  });

  it('overwritten when something else did the same, as kubectl replace does', () => {
    const managedFields = [selectorBy('kubectl-replace')];
    const replaced = service(LABELS, { managedFields });
    expect(judged(replaced, undo)).toMatchObject({ is: 'overwritten' });
  });

  describe('where another devloop has returned the fields to their owners and removed the mark', () => {
    const BEFORE = [selectorBy('helm'), { ...selectorBy('kubectl'), operation: 'Apply' }];
    const owned = service(LABELS, { managedFields: BEFORE });
    const taken = applyJsonPatch(owned, changePatch(owned, SESSION, [{ path: ['spec', 'selector'] }]));
    const changes = undoOf(taken, SELECTOR) as FieldChange[];
    const is = (managedFields: ManagedFields[], metadata: Partial<Metadata> = {}) =>
      judged(service(LABELS, { ...metadata, managedFields }), changes).is;

    it('restored, also if the first of its two writes was not seen: they own them as before, or nobody does', () => {
      expect(is(BEFORE)).toBe('restored');
      expect(is([BEFORE[1]!])).toBe('restored');
      expect(is([])).toBe('restored');
      const others = {
        ...selectorBy('kubectl-annotate'),
        fieldsV1: { 'f:metadata': { 'f:annotations': {} } },
      };
      expect(is([others])).toBe('restored');
    });

    it('overwritten where an owner has written since, or another one has, or the mark is still there', () => {
      const since = { ...BEFORE[0]!, time: '2026-01-01T00:00:01Z' };
      expect(is([since, BEFORE[1]!])).toBe('overwritten');
      expect(is([...BEFORE, selectorBy('kubectl-replace')])).toBe('overwritten');
      const { labels = {}, annotations = {} } = taken.metadata;
      for (const managedFields of [BEFORE, []])
        expect(is(managedFields, { labels, annotations })).toBe('overwritten');
    });
  });

  it('restored when another devloop has written a value from before, though the mark is still there', () => {
    const managedFields = [selectorBy('devloop')];
    const resumed = { metadata: { ...ours.metadata, managedFields }, spec: { selector: LABELS } };
    expect(judged(resumed, undo)).toEqual({ is: 'restored' });
  });

  it('taken when it has the mark of another session', () => {
    expect(judged(service(LABELS, { labels: { 'devloop.dev/session': 'other' } }), undo)).toEqual({
      is: 'taken',
      by: 'other',
    });
  });
});

import { describe, expect, it } from 'vitest';
import type { KubeObject, ManagedFields } from '../../../src/cluster/api/objects.ts';
import type { FieldChange } from '../../../src/cluster/marks/marks.ts';
import { changesAfter, observe, writerOf } from '../../../src/cluster/marks/observe.ts';
import { SESSION_LABEL } from '../../../src/cluster/names.ts';

const selector: FieldChange = {
  path: ['spec', 'selector'],
  before: { app: 'x' },
  after: { 'devloop.dev/relay': 's1' },
};
const replicas: FieldChange = { path: ['spec', 'replicas'], before: 2, after: 0 };

/** As the API server records them. A selector is atomic, so its entries are not listed. */
const FIELDS = {
  selector: { 'f:spec': { 'f:selector': {} } },
  replicas: { 'f:spec': { 'f:replicas': {} } },
  labels: { 'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } } },
  status: { 'f:status': { 'f:replicas': {} } },
};
const wrote = (manager: string, fieldsV1: object, time = '2026-01-01T00:00:00Z'): ManagedFields => ({
  manager,
  operation: 'Update',
  time,
  fieldsV1,
});

function object(spec: object, managedFields: ManagedFields[] = [], session = 's1'): KubeObject {
  return { metadata: { name: 'x', labels: { [SESSION_LABEL]: session }, managedFields }, spec } as KubeObject;
}

describe('a changed object that is watched', () => {
  it('differs in nothing as long as it is as the session wrote it', () => {
    const live = object({ selector: { 'devloop.dev/relay': 's1' }, replicas: 0 });
    expect(observe(live, [selector, replicas])).toMatchObject({ session: 's1', differing: [] });
  });

  it('says what differs, what the others want, and who wrote it', () => {
    const writer = wrote('kubectl-client-side-apply', FIELDS.selector);
    const live = object({ selector: { app: 'x', 'devloop.dev/relay': 's1' }, replicas: 0 }, [
      wrote('devloop', FIELDS.replicas),
      writer,
    ]);
    const { differing } = observe(live, [selector, replicas]);
    expect(differing).toEqual([
      {
        change: selector,
        now: { app: 'x', 'devloop.dev/relay': 's1' },
        theirs: { app: 'x' },
        by: { manager: writer.manager, operation: 'Update', time: writer.time },
        owners: [{ manager: writer.manager, operation: 'Update', time: writer.time }],
      },
    ]);
  });

  it('says whose label it has now, and who wrote to it last', () => {
    const live = object(
      { replicas: 0 },
      [
        wrote('helm', FIELDS.labels, '2026-01-01T00:00:02Z'),
        wrote('devloop', FIELDS.replicas, '2026-01-01T00:00:01Z'),
        { ...wrote('kube-controller-manager', FIELDS.status, '2026-01-01T00:00:03Z'), subresource: 'status' },
      ],
      's2',
    );
    expect(observe(live, [replicas])).toMatchObject({ session: 's2', lastWriter: { manager: 'helm' } });
  });
});

describe('the writer of a field', () => {
  it('is the latest of its owners, and the later one in the same second', () => {
    const live = object({ replicas: 3 }, [
      wrote('a', FIELDS.replicas, '2026-01-01T00:00:02Z'),
      wrote('b', FIELDS.replicas, '2026-01-01T00:00:02Z'),
      wrote('c', FIELDS.replicas, '2026-01-01T00:00:01Z'),
    ]);
    expect(writerOf(live, replicas.path)?.manager).toBe('b');
  });

  it('is unknown where nobody owns it, or the record is of no known form', () => {
    for (const fieldsV1 of [FIELDS.labels, {}, null, undefined, 'x', { 'f:spec': null }, { 'f:spec': 7 }])
      expect(writerOf(object({}, [wrote('a', fieldsV1 as object)]), selector.path)).toBeUndefined();
    expect(writerOf({ metadata: { name: 'x' } }, selector.path)).toBeUndefined();
  });

  it('owns the entries of an atomic map, too', () => {
    expect(writerOf(object({}, [wrote('a', FIELDS.selector)]), [...selector.path, 'app'])?.manager).toBe('a');
  });
});

describe('the changes of a session that takes its fields back', () => {
  const after = (spec: object): FieldChange[] =>
    changesAfter([selector, replicas], observe(object(spec), [selector, replicas]));

  it('restore what others set meanwhile', () => {
    expect(after({ selector: { app: 'y', 'devloop.dev/relay': 's1' }, replicas: 3 })).toEqual([
      { ...selector, before: { app: 'y' } },
      { ...replicas, before: 3 },
    ]);
  });

  it('restore what they did where a merge only added the old value, or the field is gone', () => {
    expect(after({ selector: { app: 'x', 'devloop.dev/relay': 's1' }, replicas: 0 })).toEqual([
      selector,
      replicas,
    ]);
    expect(after({ replicas: 0 })).toEqual([selector, replicas]);
  });
});

import { expect, it } from 'vitest';
import type { CallRecord, ReconcileRecord } from '../../../../src/calls/record.ts';
import { plannedRun } from '../../../../src/session/planning/planned.ts';
import { cutOff } from '../../../../src/session/planning/waits.ts';
import { partly } from '../../../support/partly.ts';

const ids = Array.from({ length: 100 }, (_, index) => String(index));
const call = (verb: string, name: string, more: Partial<CallRecord> = {}): CallRecord =>
  partly<CallRecord>({
    ...{ v: 1, id: `c-${ids.pop()}`, at: '', ms: 1, verb, resource: 'configmaps', namespace: 'shop' },
    ...{ name, code: verb === 'create' ? 201 : 200, kind: 'ConfigMap' },
    ...more,
  });
const dry = (verb: string, name: string, more: Partial<CallRecord> = {}): CallRecord =>
  call(verb, name, { isWrite: true, isDryRun: true, ...more });
const reconcile = (id: string, result: ReconcileRecord['result'], more: Partial<ReconcileRecord> = {}) =>
  partly<ReconcileRecord>({
    ...{ v: 1, id: `k-${ids.pop()}`, reconcile: id, at: '', ms: 1, controller: 'shop', kind: 'Shop' },
    ...{
      namespace: 'shop',
      name: 'a',
      result,
      calls: [],
      counts: { writes: 0, reads: 0, failed: 0 },
      after: [],
    },
    ...more,
  });
const never = (): number => 0;

it('says that a controller waits at its last write while it reconciles again and again, unfinished', () => {
  const first = [dry('create', 'x', { reconcile: 'r1' }), reconcile('r1', 'requeue_after')];
  const again = ['r2', 'r3', 'r4'].map((id) => reconcile(id, 'error', { error: 'x is missing' }));
  const { writes, failed } = plannedRun([...first, ...again], never);
  expect(writes.map(({ write }) => write.waits)).toEqual([
    {
      ...{ for: 'reconcile', times: 3, error: 'x is missing' },
      of: { kind: 'Shop', namespace: 'shop', name: 'a' },
    },
  ]);
  expect(failed).toEqual([]);
});

it('says nothing of a controller that is done, or that reconciles another object', () => {
  const first = [dry('create', 'x', { reconcile: 'r1' }), reconcile('r1', 'success')];
  const done = ['r2', 'r3', 'r4'].map((id) => reconcile(id, 'success'));
  const other = ['s2', 's3', 's4'].map((id) => reconcile(id, 'requeue_after', { name: 'b' }));
  const [one] = plannedRun([...first, ...done, ...other], never).writes;
  expect(one?.write).not.toHaveProperty('waits');
});

it('says that a controller asks for what it has written, or repeats a write', () => {
  const asking = [
    dry('create', 'x'),
    ...[1, 2, 3].map(() => call('get', 'x', { code: 404 })),
    call('get', 'y'),
  ];
  expect(plannedRun(asking, never).writes[0]?.write.waits).toEqual({ for: 'object', times: 3 });
  const repeated = [dry('create', 'x'), dry('create', 'y')];
  const times = ({ name }: CallRecord): number => (name === 'y' ? 5 : 1);
  const waits = plannedRun(repeated, times).writes.map(({ write }) => write.waits);
  expect(waits).toEqual([undefined, { for: 'repeated', times: 5 }]);
});

it('names the objects whose reconciles fail for another reason than a write of the plan', () => {
  const refused = dry('create', 'x', { reconcile: 'r1', code: 403, message: 'no' });
  const records = [
    ...[refused, reconcile('r1', 'error', { error: 'no' })],
    ...[
      reconcile('s1', 'success', { name: 'b' }),
      reconcile('s2', 'error', { name: 'b', error: 'no network' }),
    ],
    ...[reconcile('t1', 'error', { name: 'c' }), reconcile('t2', 'success', { name: 'c' })],
  ];
  const { writes, failed } = plannedRun(records, never);
  expect(writes.map(({ write }) => write.action)).toEqual(['refused']);
  expect(failed).toEqual([{ of: { kind: 'Shop', namespace: 'shop', name: 'b' }, error: 'no network' }]);
});

it('leaves out a refusal of a write that is accepted later, such as a conflict', () => {
  const records = [dry('update', 'x', { code: 409 }), dry('update', 'x'), dry('update', 'y', { code: 409 })];
  const { writes } = plannedRun(records, never);
  expect(writes.map(({ write }) => [write.action, write.name])).toEqual([
    ['change', 'x'],
    ['refused', 'y'],
  ]);
});

it('says of a write to what only the plan has created that it follows from that, and not that it is refused', () => {
  const missing = { code: 404, message: 'configmaps "x" not found' };
  const records = [
    dry('create', 'x'),
    dry('update', 'x', missing),
    dry('update', 'x', { ...missing, resource: 'configmaps/status' }),
    dry('update', 'y', missing),
  ];
  const { writes } = plannedRun(records, never);
  expect(writes.map(({ write }) => [write.action, write.name, write.waits])).toEqual([
    ['create', 'x', { for: 'written', times: 2 }],
    ['refused', 'y', undefined],
  ]);
});

it('does not count a reconcile as failed that was cut off because the plan was complete', () => {
  const at = new Date(10_000).toISOString();
  const error = 'context canceled';
  const records = [
    reconcile('r1', 'error', { at, ms: 2_000, error }),
    reconcile('r2', 'error', { at, ms: 20_000, error, name: 'b' }),
  ];
  const { failed } = plannedRun(cutOff(records, 15_000), never);
  expect(failed).toEqual([{ of: { kind: 'Shop', namespace: 'shop', name: 'a' }, error }]);
});

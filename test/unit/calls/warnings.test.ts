import { expect, test } from 'vitest';
import { Warnings } from '../../../src/calls/warnings.ts';
import type { CallSummary, CauseEvent, ReconcileCall, ReconcileSummary } from '../../../src/report/call.ts';

const START = Date.parse('2026-01-01T10:00:00Z');
const at = (ms: number): string => new Date(START + ms).toISOString();
const WEB = { kind: 'Deployment', namespace: 'shop', name: 'web' };
const MAIN = { kind: 'Shop', namespace: 'shop', name: 'main' };

function call(ms: number, more: Partial<CallSummary>): CallSummary {
  return { id: 'c-000001', at: at(ms), verb: 'update', ...WEB, code: 200, isWrite: true, ms: 3, ...more };
}

function wrote(...changes: string[]): ReconcileCall {
  return { id: 'c-000001', verb: 'update', ...MAIN, code: 200, changes };
}

const OWN: CauseEvent = {
  at: at(0),
  ...MAIN,
  what: 'changed',
  isOwn: true,
  changes: ['~status.seen=1', '-status.old'],
};
const BY_ANN: CauseEvent = { at: at(0), ...WEB, what: 'changed', by: 'ann', changes: ['~spec.replicas=3'] };

function reconcile(ms: number, more: Partial<ReconcileSummary>): ReconcileSummary {
  return {
    ...{ id: 'k-000001', reconcile: 'r', at: at(ms), controller: 'shop', ...MAIN, result: 'success', ms: 5 },
    ...{ calls: [wrote('~status.seen=2')], counts: { writes: 1, reads: 0, failed: 0 }, after: [OWN] },
    ...more,
  };
}

/** The warnings after so many of them, one every `everyMs`. */
function repeatedCalls(times: number, everyMs: number, more: Partial<CallSummary>, controller = 'shop') {
  const warnings = new Warnings();
  return Array.from({ length: times }, (_, index) =>
    warnings.called(call(index * everyMs, more), controller),
  ).flat();
}

function repeated(times: number, everyMs: number, more: Partial<ReconcileSummary> = {}) {
  const warnings = new Warnings();
  return Array.from({ length: times }, (_, index) =>
    warnings.reconciled(reconcile(index * everyMs, more)),
  ).flat();
}

test('ten writes within a minute that change nothing are told, with the controller', () => {
  expect(repeatedCalls(10, 6_000, { isUnchanged: true })).toMatchObject([
    {
      type: 'warning',
      code: 'calls.unchanged',
      values: { controller: 'shop', object: WEB, verb: 'update', times: 10, seconds: 54 },
    },
  ]);
  expect(repeatedCalls(9, 1_000, { isUnchanged: true })).toEqual([]);
  expect(repeatedCalls(30, 7_000, { isUnchanged: true })).toEqual([]);
  expect(repeatedCalls(30, 1_000, { changes: ['~spec.replicas=2'] })).toEqual([]);
});

test('applies that change nothing are told only if nothing has happened before them', () => {
  const apply: ReconcileCall = { id: 'c-000001', verb: 'apply', ...WEB, code: 200, isUnchanged: true };
  expect(repeated(10, 6_000, { calls: [apply], after: [BY_ANN] })).toEqual([]);
  expect(repeated(10, 6_000, { calls: [apply], after: [] })).toMatchObject([
    {
      code: 'calls.unchanged',
      values: { controller: 'shop', object: WEB, verb: 'apply', times: 10, seconds: 54 },
    },
  ]);
  expect(repeated(10, 6_000, { calls: [{ ...apply, verb: 'update' }], after: [] })).toEqual([]);
  const alone = { verb: 'apply', isUnchanged: true as const };
  expect(repeatedCalls(10, 6_000, { ...alone, reconcile: 'r' })).toEqual([]);
  expect(repeatedCalls(10, 6_000, { ...alone, after: [BY_ANN] })).toEqual([]);
  expect(repeatedCalls(10, 6_000, alone)).toMatchObject([{ code: 'calls.unchanged' }]);
});

test('writes of other objects, and of other controllers, are counted by themselves', () => {
  const warnings = new Warnings();
  const told = Array.from({ length: 27 }, (_, index) =>
    warnings.called(
      call(index * 100, { name: index % 3 === 0 ? 'web' : 'other', isUnchanged: true }),
      index % 3 === 1 ? 'shop' : 'cart',
    ),
  );
  expect(told.flat()).toEqual([]);
});

const CONFLICT = { code: 409, message: 'the object has been modified', resource: 'deployments/status' };

test('conflicts between which no write of the object succeeds are told after a while, with their cause', () => {
  const { kind, ...object } = WEB;
  expect(repeatedCalls(5, 15_000, { ...CONFLICT, kind: undefined } as Partial<CallSummary>)).toMatchObject([
    {
      code: 'calls.conflicts',
      values: {
        object: { kind: 'deployments', ...object },
        ...{ times: 5, seconds: 60, cause: 'the object has been modified' },
      },
    },
  ]);
  expect(repeatedCalls(500, 20, CONFLICT)).toMatchObject([{ values: { times: 251, seconds: 5 } }]);
  expect(repeatedCalls(4, 15_000, CONFLICT)).toEqual([]);
  expect(repeatedCalls(30, 61_000, CONFLICT)).toEqual([]);
  // A cache catches up, as that of controller-runtime's client.
  expect(repeatedCalls(50, 90, CONFLICT)).toEqual([]);
  // The same status says that there is such an object already, and that devloop does not pass the write on.
  expect(repeatedCalls(30, 1_000, { ...CONFLICT, verb: 'create' })).toEqual([]);
  expect(repeatedCalls(30, 1_000, { ...CONFLICT, isOwn: true })).toEqual([]);
  expect(repeatedCalls(30, 1_000, { ...CONFLICT, faults: ['409 update'] })).toEqual([]);
});

test('conflicts are no fault while writes of the object succeed in between, unless most are refused for long', () => {
  const told = (refusedOf: number, more: Partial<CallSummary> = {}) => {
    const warnings = new Warnings();
    return Array.from({ length: 600 }, (_, index) => {
      const { resource } = CONFLICT;
      const one = index % refusedOf === 0 ? { resource, ...more } : CONFLICT;
      return warnings.called(call(index * 100, one), 'shop');
    }).flat();
  };
  // As in a rollout that several write to: each write succeeds at the second attempt.
  expect(told(2)).toEqual([]);
  expect(told(4)).toMatchObject([{ code: 'calls.conflicts', values: { seconds: 30 } }]);
  // Neither another object nor a write that fails otherwise is a success.
  expect(told(2, { name: 'other' })).toMatchObject([{ values: { seconds: 5 } }]);
  expect(told(2, { code: 422 })).toMatchObject([{ values: { seconds: 5 } }]);
  expect(told(2, { resource: 'deployments' })).toMatchObject([{ values: { seconds: 5 } }]);
});

test('ten reconciles within 30 seconds that only their own writes can have caused are told, with the fields', () => {
  // Nothing can have woken the first one.
  expect(repeated(11, 400)).toMatchObject([
    {
      code: 'reconciles.wake-themselves',
      values: {
        ...{ controller: 'shop', object: MAIN, last: 'k-000001', times: 10, seconds: 4 },
        fields: [
          { field: 'status.seen', times: 10 },
          { field: 'status.old', times: 10 },
        ],
      },
    },
  ]);
  expect(repeated(10, 400)).toEqual([]);
  // How often it happens is measured first.
  expect(repeated(420, 7)).toEqual([]);
  expect(repeated(440, 7)).toMatchObject([{ values: { times: 430, seconds: 3 } }]);
  const ofOther = { ...OWN, ...WEB, changes: ['~metadata.annotations[a=b/c]=x]y'] };
  expect(repeated(11, 400, { after: [ofOther] })).toMatchObject([
    { values: { fields: [{ field: 'Deployment shop/web metadata.annotations[a=b/c]' }] } },
  ]);
});

test.each<[string, number, Partial<ReconcileSummary>]>([
  ['others have changed something, too', 200, { after: [OWN, BY_ANN] }],
  ['no event came before it', 200, { after: [] }],
  ['it writes nothing', 200, { calls: [] }],
  ['what it writes changes nothing', 200, { calls: [{ ...wrote(), isUnchanged: true }] }],
  ['what it writes is refused', 200, { calls: [{ ...wrote(), code: 409 }] }],
  ['it is tried again after an error', 200, { result: 'error' }],
  ['it has asked for the next one', 200, { result: 'requeue_after', requeueAfterMs: 100 }],
  ['it comes later than an event wakes it', 1_100, {}],
])('a reconcile after its own write is no loop if %s', (_, everyMs, more) => {
  expect(repeated(40, everyMs, more)).toEqual([]);
});

test('a loop beside a timer that is not due is one', () => {
  expect(repeated(11, 400, { result: 'requeue_after', requeueAfterMs: 60_000 })).toHaveLength(1);
});

const PUTS_BACK = { after: [BY_ANN], calls: [{ ...wrote('~spec.replicas=1'), ...WEB }] };

test('who changes a field three times that the controller puts back is told, with the field', () => {
  expect(repeated(3, 55_000, PUTS_BACK)).toMatchObject([
    {
      code: 'calls.contested',
      values: {
        ...{ controller: 'shop', object: WEB, by: 'ann', times: 3, seconds: 110 },
        fields: [{ field: 'spec.replicas', times: 3 }],
      },
    },
  ]);
  expect(repeated(2, 1_000, PUTS_BACK)).toEqual([]);
  expect(repeated(30, 61_000, PUTS_BACK)).toEqual([]);
});

test.each<[string, Partial<ReconcileSummary>]>([
  ['another field', { after: [{ ...BY_ANN, changes: ['~spec.paused=true'] }] }],
  ['another object', { after: [{ ...BY_ANN, name: 'other' }] }],
  ['its own field', { after: [{ ...BY_ANN, isOwn: true }] }],
])('nobody fights with a controller that writes after a change of %s', (_, more) => {
  // An event before of the first that is no write of its own, so that no loop is seen.
  const after = [{ ...BY_ANN, changes: ['~status.readyReplicas=1'] }, ...more.after!];
  expect(repeated(30, 1_000, { ...PUTS_BACK, after })).toEqual([]);
});

test('what goes on is told again after ten minutes, with how often it has happened since', () => {
  const told = repeatedCalls(1_300, 1_000, { isUnchanged: true });
  expect(told.map(({ values }) => values)).toMatchObject([
    { times: 10, seconds: 9 },
    { times: 600, seconds: 600 },
    { times: 600, seconds: 600 },
  ]);
});

test('a new build that still does it is told again', () => {
  const warnings = new Warnings();
  const told = (build: string, from: number) =>
    Array.from({ length: 60 }, (_, index) =>
      warnings.called(call(from + index * 1_000, { isUnchanged: true, build }), 'shop'),
    ).flat();
  expect(told('b1', 0)).toHaveLength(1);
  expect(told('b1', 60_000)).toEqual([]);
  expect(told('b2', 120_000)).toHaveLength(1);
});

test('of several fields of an object, one warning names them', () => {
  const changes = ['~spec.replicas=3', '~spec.paused=true'];
  const both = { after: [{ ...BY_ANN, changes }], calls: [{ ...wrote(...changes), ...WEB }] };
  expect(repeated(8, 1_000, both)).toMatchObject([
    {
      values: {
        fields: [
          { field: 'spec.replicas', times: 3 },
          { field: 'spec.paused', times: 3 },
        ],
      },
    },
  ]);
});

/** What a program without reconciles wrote, one call every `everyMs`. */
function written(
  times: number,
  everyMs: number,
  after: (index: number) => CauseEvent[],
  more: Partial<CallSummary> = {},
) {
  const warnings = new Warnings();
  return Array.from({ length: times }, (_, index) =>
    warnings.called(
      call(index * everyMs, { ...MAIN, changes: ['~status.seen=2'], after: after(index), ...more }),
      undefined,
    ),
  ).flat();
}

/** An event 20 ms before the call with this number. */
const before = (event: CauseEvent, everyMs: number) => (index: number) => [
  { ...event, at: at(index * everyMs - 20) },
];

test('thirty writes within 30 seconds, each after the event of the one before, are told, with the fields', () => {
  expect(written(30, 900, before(OWN, 900))).toMatchObject([
    {
      code: 'calls.after-own',
      values: {
        ...{ object: MAIN, times: 30, seconds: 26 },
        fields: [
          { field: 'status.seen', times: 30 },
          { field: 'status.old', times: 30 },
        ],
      },
    },
  ]);
});

const BY_ANN_BEFORE = { ...BY_ANN, ...MAIN, changes: ['~spec.size=3'] };

test.each<[string, number, (index: number) => CauseEvent[], Partial<CallSummary>]>([
  ['they are few', 29, before(OWN, 200), {}],
  ['nothing came before them', 60, () => [], {}],
  [
    'others have changed something, too',
    60,
    (index) => [...before(OWN, 200)(index), ...before(BY_ANN_BEFORE, 200)(index)],
    {},
  ],
  ['they change nothing', 9, before(OWN, 200), { isUnchanged: true }],
  ['they belong to reconciles', 60, before(OWN, 200), { reconcile: 'r' }],
])('writes after the event of their own are no loop if %s', (_, times, after, more) => {
  expect(written(times, 200, after, more)).toEqual([]);
});

const SCALES = { ...WEB, changes: ['~spec.replicas=1'] };
const byAnnEach = (index: number) => [{ ...BY_ANN, at: at(index * 50_000 - 20) }];

test('a program without reconciles that puts back what somebody else changes is told, too', () => {
  expect(written(3, 50_000, byAnnEach, SCALES)).toMatchObject([
    {
      code: 'calls.contested',
      values: { object: WEB, by: 'ann', times: 3, fields: [{ field: 'spec.replicas' }] },
    },
  ]);
  expect(written(2, 50_000, byAnnEach, SCALES)).toEqual([]);
  // One change, and many writes after it.
  expect(written(20, 100, () => [BY_ANN], SCALES)).toEqual([]);
  expect(written(9, 50_000, byAnnEach, { ...SCALES, reconcile: 'r' })).toEqual([]);
});

test('no build of the controller counts as somebody else', () => {
  const event: CauseEvent = { ...BY_ANN, by: 'controller-3' };
  const contested = { calls: [{ ...wrote('~spec.replicas=1'), ...WEB }], after: [event] };
  const times = (warnings: Warnings) =>
    [0, 1, 2, 3, 4].flatMap((one) => warnings.reconciled(reconcile(one * 1_000, contested)));
  expect(times(new Warnings())).toMatchObject([{ code: 'calls.contested', values: { by: 'controller-3' } }]);
  const warnings = new Warnings();
  warnings.writesAs('controller-3');
  warnings.writesAs('controller-4');
  expect(times(warnings)).toEqual([]);
  expect(times(warnings.anew())).toEqual([]);
});

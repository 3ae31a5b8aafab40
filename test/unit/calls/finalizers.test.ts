import { expect, test } from 'vitest';
import { type ApiCall, apiCall } from '../../../src/api-proxy/api-call.ts';
import type { ServedCall } from '../../../src/api-proxy/observed.ts';
import { Finalizers } from '../../../src/calls/finalizers.ts';
import type { KubeObject } from '../../../src/cluster/api/objects.ts';
import type { CallSummary, ReconcileSummary } from '../../../src/report/call.ts';

const START = Date.parse('2026-01-01T10:00:00Z');
const WATCH = apiCall({ method: 'GET', url: '/apis/shop.example.com/v1/shops?watch=true' });
const LIST = apiCall({ method: 'GET', url: '/apis/shop.example.com/v1/shops' });
const MAIN = { kind: 'Shop', namespace: 'shop', name: 'main' };
const FINALIZER = 'shop.example.com/clean';

function object(uid: string, metadata: object = {}, name = 'main'): KubeObject {
  const fieldsV1 = { 'f:metadata': { 'f:finalizers': { '.': {}, [`v:"${FINALIZER}"`]: {} } } };
  const managedFields = [{ manager: 'manager', operation: 'Update', fieldsV1 }];
  const deletionTimestamp = new Date(START).toISOString();
  return {
    kind: 'Shop',
    metadata: {
      uid,
      name,
      namespace: 'shop',
      finalizers: [FINALIZER],
      deletionTimestamp,
      managedFields,
      ...metadata,
    },
  };
}

/** The finalizers of a session whose controller calls itself `manager`, and what makes something happen in them. */
function session() {
  const finalizers = new Finalizers();
  const called = (
    of: string | ApiCall,
    ms: number,
    more: Partial<CallSummary> = {},
    by?: typeof MAIN,
  ): void => {
    const [method = '', url = ''] = typeof of === 'string' ? of.split(' ') : [];
    const call = typeof of === 'string' ? apiCall({ method, url }) : of;
    const at = START + ms;
    const headers = { 'user-agent': 'manager/v0.0.0 (linux/amd64)' };
    const served: ServedCall = { call, at, headers, ms: 0 };
    const { group = '', resource = '' } = call.resource ?? {};
    const record = {
      id: 'c-000001',
      at: new Date(at).toISOString(),
      verb: call.verb,
      group,
      resource,
      code: 200,
      ms: 0,
    };
    finalizers.called(
      served,
      { ...record, ...more },
      by && { ...by, reconcile: 'r', at, controller: 'shop' },
    );
  };
  const begun = (ms: number): void =>
    finalizers.begun({ ...MAIN, reconcile: 'r', at: START + ms, controller: 'shop' });
  const reconciled = (ms: number, more: Partial<ReconcileSummary> = {}): void =>
    finalizers.reconciled({
      ...{
        id: 'k-000001',
        reconcile: 'r',
        at: new Date(START + ms).toISOString(),
        controller: 'shop',
        ...MAIN,
      },
      ...{
        result: 'success',
        ms: 5,
        calls: [],
        counts: { writes: 0, reads: 0, failed: 0 },
        after: [],
        ...more,
      },
    });
  const passed = (one: KubeObject, ms: number, deletedFor?: typeof MAIN, call = WATCH): void =>
    finalizers.passed(one, call, {
      at: START + ms,
      deletedFor: deletedFor && { ...deletedFor, reconcile: 'r', at: START + ms, controller: 'shop' },
    });
  const due = (ms: number) => finalizers.due(START + ms);
  called('GET /version', 0);
  return { finalizers, called, begun, reconciled, passed, due };
}

test('a finalizer that is left by the controller that has done with the object is told once, after a minute', () => {
  const { begun, reconciled, passed, due } = session();
  passed(object('u1'), 10);
  for (const ms of [20, 2_000]) {
    begun(ms);
    reconciled(ms);
  }
  expect(due(61_000)).toEqual([]);
  expect(due(63_000)).toMatchObject([
    {
      code: 'reconciles.finalizer-left',
      values: { controller: 'shop', object: MAIN, finalizers: [FINALIZER], reconciles: 2, seconds: 63 },
    },
  ]);
  expect(due(200_000)).toEqual([]);
});

test('writes of others with the same name are no writes of the object', () => {
  const { called, reconciled, passed, due } = session();
  passed(object('u1'), 10);
  called('DELETE /apis/apps/v1/namespaces/shop/deployments/main', 15, {
    ...MAIN,
    kind: undefined,
    isWrite: true,
  } as Partial<CallSummary>);
  reconciled(20);
  expect(due(62_000)).toHaveLength(1);
});

test('the end of another watch does not matter, unless the object was only listed', () => {
  const other = apiCall({ method: 'GET', url: '/apis/shop.example.com/v1/shops?watch=true' });
  for (const [call, told] of [
    [WATCH, 1],
    [LIST, 0],
  ] as const) {
    const { called, reconciled, passed, due } = session();
    passed(object('u1'), 10, undefined, call);
    reconciled(20);
    called(other, 30);
    expect(due(62_000)).toHaveLength(told);
  }
});

test('a finalizer that was set in the cluster is known from other objects', () => {
  const { reconciled, passed, due } = session();
  passed(object('u1', { managedFields: [] }), 10);
  reconciled(20);
  expect(due(62_000)).toEqual([]);
  passed(object('u2', { deletionTimestamp: undefined }, 'other'), 5);
  passed(object('u1', { managedFields: [] }), 10);
  reconciled(20);
  expect(due(62_000)).toHaveLength(1);
});

test('of several objects with the same finalizer, one is told', () => {
  const { reconciled, passed, due } = session();
  for (const name of ['main', 'other']) {
    passed(object(name, {}, name), 10);
    reconciled(20, { name });
  }
  expect(due(63_000)).toHaveLength(1);
});

const OWNED = { ownerReferences: [{ kind: 'Shop', name: 'main', uid: 'u1' }], managedFields: [] };

test.each<[string, (of: ReturnType<typeof session>) => void]>([
  [
    'it has ended before an older version of it passes',
    ({ finalizers, passed, reconciled }) => {
      finalizers.gone(object('u1'), START + 30);
      passed(object('u1'), 35);
      reconciled(40);
    },
  ],
  ['it has ended', ({ finalizers }) => finalizers.gone(object('u1'), START + 30)],
  [
    'the finalizer is removed',
    ({ passed }) => passed(object('u1', { finalizers: ['foregroundDeletion'] }), 30),
  ],
  ['a reconcile is still running', ({ begun }) => begun(30)],
  ['the last reconcile has failed', ({ reconciled }) => reconciled(30, { result: 'error' })],
  [
    'the next one is due',
    ({ reconciled }) => reconciled(30, { result: 'requeue_after', requeueAfterMs: 90_000 }),
  ],
  ['something has happened to it', ({ passed }) => passed(object('u1', { resourceVersion: '2' }), 5_000)],
  [
    'something has happened to what it owns',
    ({ finalizers }) => finalizers.gone(object('u2', OWNED, 'web'), START + 5_000),
  ],
  ['what it owns is still ending', ({ passed }) => passed(object('u2', OWNED, 'web'), 30)],
  [
    'what its reconcile has deleted is still ending',
    ({ passed }) => passed(object('u2', { managedFields: [] }, 'db'), 30, MAIN),
  ],
  [
    'the controller has written its status',
    ({ called }) =>
      called('PATCH /apis/shop.example.com/v1/namespaces/shop/shops/main/status', 30, {
        ...MAIN,
        isWrite: true,
      }),
  ],
  [
    'its reconcile has just written something',
    ({ called }) =>
      called(
        'PUT /api/v1/namespaces/shop/secrets/a',
        5_000,
        { kind: 'Secret', name: 'a', isWrite: true },
        MAIN,
      ),
  ],
  ['its watch has ended', ({ called }) => called(WATCH, 30)],
])('nothing is told of a deleted object if %s', (_, happens) => {
  const of = session();
  of.passed(object('u1'), 10);
  of.reconciled(20);
  happens(of);
  expect(of.due(62_000)).toEqual([]);
});

test.each<[string, KubeObject, number]>([
  ['is not deleted', object('u1', { deletionTimestamp: undefined }), 20],
  ['has the finalizer of somebody else', object('u1', { finalizers: ['other.example.com/clean'] }), 20],
  ['also has the one of somebody else', object('u1', { finalizers: [FINALIZER, 'foregroundDeletion'] }), 20],
  ['has been reconciled before its deletion was seen', object('u1'), 5],
])('nothing is told of an object that %s', (_, one, reconciledAt) => {
  const { passed, reconciled, due } = session();
  passed(one, 10);
  reconciled(reconciledAt);
  expect(due(100_000)).toEqual([]);
});

test('what has ended no longer holds the object that owns it', () => {
  const { finalizers, passed, reconciled, due } = session();
  passed(object('u1'), 10);
  passed(object('u2', OWNED, 'web'), 20);
  reconciled(30);
  finalizers.gone(object('u2', OWNED, 'web'), START + 5_000);
  expect(due(64_000)).toEqual([]);
  expect(due(66_000)).toHaveLength(1);
});

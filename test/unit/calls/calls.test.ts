import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { apiCall } from '../../../src/api-proxy/api-call.ts';
import type { ServedCall } from '../../../src/api-proxy/observed.ts';
import { readCalls } from '../../../src/calls/read.ts';
import type { CallRecord } from '../../../src/calls/record.ts';
import { CallRecorder } from '../../../src/calls/recorder.ts';
import { listenForReports } from '../../../src/calls/reported.ts';
import type { KubeObject, ManagedFields } from '../../../src/cluster/api/objects.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { createRecording } from '../../../src/reviews/recording.ts';

type Of<Type extends DevloopEvent['type']> = Extract<DevloopEvent, { type: Type }>;

const APPS = '/apis/apps/v1/namespaces/shop/deployments';
const WATCH = apiCall({ method: 'GET', url: `${APPS}?watch=true` });
const now = (): number => performance.timeOrigin + performance.now();

async function recorder() {
  const directory = await mkdtemp(join(tmpdir(), 'calls-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const events: DevloopEvent[] = [];
  const recording = createRecording(directory, 'calls');
  const ending = new AbortController();
  const calls = new CallRecorder(
    recording,
    { paths: [], build: () => 'b2', signal: ending.signal },
    (event) => void events.push(event),
  );
  const end = async () => {
    await sleep(200);
    await calls[Symbol.asyncDispose]();
    return await readCalls(directory);
  };
  const of = <Type extends DevloopEvent['type']>(type: Type) =>
    events.filter((one): one is Of<Type> => one.type === type);
  return { calls, directory, ending, end, of };
}

function deployment(version: number, replicas: number, more: object = {}): KubeObject {
  const metadata = { name: 'web', namespace: 'shop', uid: 'u1', resourceVersion: String(version), ...more };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { replicas } } as KubeObject;
}

function served(
  line: string,
  status: number,
  answer: object,
  { reconcile = '', at = now() } = {},
): ServedCall {
  const [method = '', url = ''] = line.split(' ');
  const body = Buffer.from(JSON.stringify(answer));
  return {
    call: apiCall({ method, url }),
    ...{ at, headers: reconcile ? { 'devloop-reconcile': reconcile } : {}, ms: 3 },
    answer: { status, headers: { 'content-type': 'application/json' }, body, bytes: body.length },
  };
}

function writer(manager: string, fieldsV1: object, subresource?: string): ManagedFields {
  return {
    manager,
    operation: 'Update',
    time: '2026-01-01T00:00:00Z',
    fieldsV1,
    ...(subresource ? { subresource } : {}),
  };
}

function watchLine(type: string, object: KubeObject): Buffer {
  return Buffer.from(JSON.stringify({ type, object }));
}

test('a write says what it changed, and one that changes nothing says so', async () => {
  const { calls, end, of } = await recorder();
  calls.hooks.served(served(`GET ${APPS}/web`, 200, deployment(1, 1)));
  await sleep(5);
  calls.hooks.served(served(`PATCH ${APPS}/web`, 200, deployment(2, 4)));
  await sleep(5);
  calls.hooks.served(served(`PUT ${APPS}/web`, 200, deployment(2, 4)));
  const records = await end();
  expect(of('call')).toMatchObject([
    { verb: 'patch', kind: 'Deployment', name: 'web', changes: ['~spec.replicas=4'], build: 'b2' },
    { verb: 'update', isUnchanged: true },
  ]);
  expect(records).toMatchObject([
    { verb: 'get' },
    { objectBefore: deployment(1, 1), objectAfter: deployment(2, 4) },
    {},
  ]);
});

test('what is done again and again is counted from when something else begins', async () => {
  const warned = async (isAnew: boolean) => {
    const { calls, end, of } = await recorder();
    for (let count = 0; count < 12; count++) {
      if (isAnew && count === 6) calls.anew();
      const line = `${count === 0 ? 'GET' : 'PUT'} ${APPS}/web`;
      calls.hooks.served(served(line, 200, deployment(2, 4), { at: now() + count * 500 }));
    }
    await end();
    return of('warning').map(({ code }) => code);
  };
  expect([await warned(false), await warned(true)]).toEqual([['calls.unchanged'], []]);
});

test('a write that was refused has the kind of its object, if one of them has passed', async () => {
  const { calls, end } = await recorder();
  const status = { kind: 'Status', message: 'no', details: { name: 'web' } };
  calls.hooks.served(served(`PUT ${APPS}/web`, 409, status));
  const partial = {
    apiVersion: 'meta.k8s.io/v1',
    kind: 'PartialObjectMetadataList',
    items: [deployment(1, 1)],
  };
  delete (partial.items[0] as Partial<KubeObject>).kind;
  delete (partial.items[0] as Partial<KubeObject>).apiVersion;
  calls.hooks.served(served(`GET ${APPS}`, 200, partial));
  calls.hooks.served(served(`PUT ${APPS}/web`, 409, status));
  calls.hooks.watched(watchLine('MODIFIED', deployment(2, 2)), now(), WATCH);
  for (const line of [`PUT ${APPS}/web`, `POST ${APPS}`, `PUT ${APPS}/web/scale`])
    calls.hooks.served(served(line, 409, status));
  const records = (await end()) as CallRecord[];
  expect(records.filter(({ code }) => code === 409).map(({ verb, kind }) => [verb, kind])).toEqual([
    ['update', undefined],
    ['update', undefined],
    ['update', 'Deployment'],
    ['create', 'Deployment'],
    ['update', undefined],
  ]);
});

test('the write that removes the last finalizer of a deleted object changes it, although its version stays', async () => {
  const { calls, end, of } = await recorder();
  const deleted = (finalizers: string[]): KubeObject =>
    deployment(7, 1, { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers });
  calls.hooks.served(served(`GET ${APPS}/web`, 200, deleted(['shop/cleanup'])));
  await sleep(5);
  calls.hooks.served(served(`PATCH ${APPS}/web`, 200, deleted([])));
  await end();
  const [write] = of('call');
  expect(write).toMatchObject({ verb: 'patch', changes: [expect.stringContaining('finalizers')] });
  expect(write).not.toHaveProperty('isUnchanged');
});

test('what a subresource answers is not taken for the object', async () => {
  const { calls, end } = await recorder();
  const metadata = { name: 'web', namespace: 'shop', uid: 'u1', resourceVersion: '7' };
  calls.hooks.served(served(`PUT ${APPS}/web/scale`, 200, { kind: 'Scale', metadata, spec: {} }));
  const proxied = '/api/v1/namespaces/shop/services/web/proxy/login/s3cret';
  calls.hooks.served(served(`GET ${proxied}`, 200, { kind: 'Secret', metadata: { name: 'other' } }));
  const [scaled, other] = (await end()) as CallRecord[];
  // `devloop timeline deployments/web` finds it by the plural.
  expect([scaled!.kind, scaled!.resource, scaled!.name]).toEqual([undefined, 'deployments/scale', 'web']);
  // What another program is asked can be a secret.
  expect([other!.kind, other!.resource, other!.name]).toEqual([undefined, 'services/proxy', 'web']);
});

test('an object that has not passed is read once before it is written, so that the write says what it changed', async () => {
  const { calls, end } = await recorder();
  const write = (method: string, url = `${APPS}/web`) => apiCall({ method, url });
  const lease = '/apis/coordination.k8s.io/v1/namespaces/shop/leases/leader';
  for (const [method, url] of [
    ['POST', APPS],
    ['PUT', `${APPS}/web/scale`],
    ['PUT', lease],
    ['DELETE', APPS],
  ])
    expect(calls.asksBefore(write(method!, url))).toBe(false);
  expect(calls.asksBefore(write('PUT', `${APPS}/web/status`))).toBe(true);
  expect(calls.asksBefore(write('PUT', `${APPS}/web/status`))).toBe(false);
  expect(calls.asksBefore(write('PATCH'))).toBe(true);
  calls.read(Buffer.from('no JSON'), write('PATCH'));
  calls.read(Buffer.from(JSON.stringify(deployment(1, 1))), write('PATCH'));
  await sleep(5);
  calls.hooks.served(served(`PATCH ${APPS}/web`, 200, deployment(2, 4)));
  calls.hooks.watched(watchLine('ADDED', deployment(1, 1, { name: 'seen' })), now(), WATCH);
  // It is not worked on yet.
  expect(calls.asksBefore(write('DELETE', `${APPS}/seen`))).toBe(false);
  expect(calls.asksBefore(write('DELETE', `${APPS}/se`))).toBe(true);
  expect(await end()).toMatchObject([{ changes: ['~spec.replicas=4'], objectBefore: deployment(1, 1) }]);
  expect(calls.asksBefore(write('DELETE', `${APPS}/seen`))).toBe(false);
});

test('a deletion shows the object before it, although its event passes first', async () => {
  const { calls, end } = await recorder();
  calls.hooks.watched(watchLine('ADDED', deployment(1, 1)), now(), WATCH);
  const at = now();
  await sleep(5);
  calls.hooks.watched(watchLine('DELETED', deployment(2, 1)), now(), WATCH);
  calls.hooks.served(served(`DELETE ${APPS}/web`, 200, { kind: 'Status', status: 'Success' }, { at }));
  calls.hooks.served(served(`DELETE ${APPS}/other`, 200, { kind: 'Status', status: 'Success' }));
  const [first, second] = await end();
  expect(first).toMatchObject({ verb: 'delete', objectBefore: deployment(1, 1) });
  expect(second).not.toHaveProperty('objectBefore');
});

test('the event of a write may pass before the answer to it', async () => {
  const { calls, end, of } = await recorder();
  calls.hooks.served(served(`GET ${APPS}/web`, 200, deployment(1, 1)));
  await sleep(5);
  const at = now();
  await sleep(5);
  calls.hooks.watched(watchLine('MODIFIED', deployment(2, 4)), now(), WATCH);
  calls.hooks.served(served(`PATCH ${APPS}/web`, 200, deployment(2, 4), { at }));
  await end();
  expect(of('call')).toMatchObject([{ changes: ['~spec.replicas=4'] }]);
});

const SPEC = { 'f:spec': { 'f:replicas': {} } };
const READY = { 'f:status': { 'f:ready': {}, 'f:conditions': { 'k:{"type":"Ready"}': { 'f:status': {} } } } };

test('what others have written before a write is not what the write changed, although their event passes later', async () => {
  const { calls, end, of } = await recorder();
  const managedFields = [writer('shop', SPEC), writer('kubelet', READY, 'status')];
  const ready = { ready: 1, conditions: [{ type: 'Ready', status: 'True' }] };
  calls.hooks.watched(
    watchLine('ADDED', { ...deployment(1, 1), status: { ready: 0 } } as KubeObject),
    now(),
    WATCH,
  );
  await sleep(5);
  const reported = { ...deployment(2, 1, { managedFields }), status: ready } as KubeObject;
  calls.hooks.served(served(`PUT ${APPS}/web?fieldManager=shop`, 200, reported));
  calls.hooks.watched(watchLine('MODIFIED', reported), now(), WATCH);
  await sleep(5);
  const written = { ...deployment(4, 3, { managedFields }), status: { ...ready, ready: 2 } } as KubeObject;
  calls.hooks.served(served(`PUT ${APPS}/web?fieldManager=shop`, 200, written));
  await sleep(5);
  const removed = { ...deployment(6, 3, { managedFields }), spec: {} } as KubeObject;
  calls.hooks.served(served(`PUT ${APPS}/web?fieldManager=shop`, 200, removed));
  await end();
  expect(of('call')).toMatchObject([
    { isUnchanged: true },
    {
      changes: ['~spec.replicas=3'],
      after: [{ by: 'kubelet', changes: ['~status.ready=1', '+status.conditions'] }, { what: 'created' }],
    },
    { changes: ['-spec.replicas'] },
  ]);
});

test('an apply has changed what its own manager owns, and an update can also remove what others own', async () => {
  const { calls, end, of } = await recorder();
  const applied = { ...writer('shop', SPEC), operation: 'Apply' };
  calls.hooks.served(
    served(`GET ${APPS}/web`, 200, deployment(1, 1, { managedFields: [writer('shop', SPEC)] })),
  );
  await sleep(5);
  const scaled = { ...deployment(2, 2, { managedFields: [writer('ann', SPEC)] }), extra: 1 } as KubeObject;
  const url = `${APPS}/web?fieldManager=shop`;
  const apply = apiCall({ method: 'PATCH', url, contentType: 'application/apply-patch+yaml' });
  calls.hooks.served({ ...served(`PATCH ${url}`, 200, scaled), call: apply });
  await sleep(5);
  calls.hooks.served({
    ...served(`PATCH ${url}`, 200, deployment(3, 3, { managedFields: [applied, writer('ann', SPEC)] })),
    call: apply,
  });
  await end();
  expect(of('call')).toMatchObject([{ changes: ['+extra=1'] }, { changes: ['~spec.replicas=3', '-extra'] }]);
});

test('nothing is said about who deleted an object, or wrote a field that nobody owns', async () => {
  const { calls, end, of } = await recorder();
  const managedFields = [writer('kubelet', READY, 'status')];
  calls.hooks.watched(watchLine('ADDED', deployment(1, 1)), now(), WATCH);
  await sleep(5);
  const bound = {
    ...deployment(2, 1, { managedFields }),
    spec: { replicas: 1, nodeName: 'n1' },
  } as KubeObject;
  calls.hooks.watched(watchLine('MODIFIED', bound), now(), WATCH);
  calls.hooks.watched(watchLine('DELETED', deployment(3, 1, { managedFields })), now(), WATCH);
  await sleep(5);
  calls.hooks.served(served(`PUT ${APPS}/web`, 200, deployment(4, 1)));
  await end();
  const [{ after = [] } = {}] = of('call');
  expect(after).toMatchObject([{ what: 'deleted' }, { changes: ['+spec.nodeName=n1'] }, { what: 'created' }]);
  for (const one of after) expect(one).not.toHaveProperty('by');
});

test('a reconcile has its calls, its log lines, its result, and the events that came before it', async () => {
  const { calls, end, of } = await recorder();
  const reconcile = '18c529d1-0000-4000-8000-000000000001';
  const byAnn = { managedFields: [writer('ann', { 'f:spec': { 'f:replicas': {} } })] };
  const owned = { ownerReferences: [{ kind: 'Shop', name: 'main', uid: 'u0', controller: true }] };
  calls.hooks.watched(watchLine('ADDED', deployment(1, 1)), now(), WATCH);
  await sleep(5);
  calls.hooks.watched(watchLine('MODIFIED', deployment(2, 3, { ...byAnn, ...owned })), now(), WATCH);
  const at = Date.now() + 1;
  const begun = { reconcile, at, controller: 'shop', kind: 'Shop', namespace: 'shop', name: 'main' };
  // Its lines arrive on another way than its begin.
  calls.logged(`INFO scaled {"reconcileID": "${reconcile}"}`);
  calls.reported.begun(begun);
  calls.hooks.served(served(`PATCH ${APPS}/web`, 200, deployment(3, 1, owned), { reconcile }));
  calls.hooks.served(
    served(`GET ${APPS}/other`, 404, { kind: 'Status', message: 'not found' }, { reconcile }),
  );
  calls.reported.ended({ reconcile, at: at + 41, result: 'requeue_after', requeueAfterMs: 60_000 });
  const records = await end();
  expect(of('call')).toEqual([]);
  expect(of('reconcile')).toMatchObject([
    {
      ...{
        reconcile,
        controller: 'shop',
        kind: 'Shop',
        name: 'main',
        ms: 41,
        requeueAfterMs: 60_000,
        build: 'b2',
      },
      counts: { writes: 1, reads: 0, failed: 1 },
      calls: [
        { verb: 'patch', changes: expect.arrayContaining(['~spec.replicas=1']) },
        { verb: 'get', code: 404 },
      ],
      after: [{ kind: 'Deployment', by: 'ann', changes: expect.arrayContaining(['~spec.replicas=3']) }],
    },
  ]);
  expect(records.at(-1)).toMatchObject({ log: [expect.stringContaining('scaled')] });
});

test('a reconcile that follows its own write says so, and an event causes only the next one', async () => {
  const { calls, end, of } = await recorder();
  const run = (reconcile: string): void => {
    calls.reported.begun({
      reconcile,
      at: Date.now() + 1,
      controller: 'web',
      kind: 'Deployment',
      namespace: 'shop',
      name: 'web',
    });
  };
  calls.hooks.served(served(`GET ${APPS}/web`, 200, deployment(1, 1)));
  await sleep(5);
  const at = now();
  await sleep(5);
  calls.hooks.watched(watchLine('MODIFIED', deployment(2, 2)), now(), WATCH);
  calls.hooks.served(served(`PATCH ${APPS}/web`, 200, deployment(2, 2), { at }));
  run('a');
  run('b');
  for (const reconcile of ['a', 'b'])
    calls.reported.ended({ reconcile, at: Date.now() + 2, result: 'success' });
  await sleep(300);
  await end();
  expect(of('reconcile').map(({ after }) => after)).toMatchObject([
    [{ isOwn: true, changes: ['~spec.replicas=2'] }],
    [],
  ]);
});

test('a retry names the reconcile whose error it follows, and one that came when it was due that which asked for it', async () => {
  const { calls, end, of } = await recorder();
  const object = { controller: 'web', kind: 'Deployment', namespace: 'shop', name: 'web' };
  const run = (reconcile: string, at: number, ended: object): void => {
    calls.reported.begun({ reconcile, at, ...object });
    calls.reported.ended({ reconcile, at: at + 2, result: 'success', ...ended });
  };
  run('a', 0, { result: 'error', error: 'boom' });
  run('b', 7, { result: 'requeue_after', requeueAfterMs: 1_000 });
  run('early', 500, { result: 'requeue_after', requeueAfterMs: 1_000 });
  run('due', 1_502, {});
  run('later', 2_000, { result: 'error', error: 'boom' });
  await sleep(300);
  calls.exited();
  await sleep(300);
  run('after a restart', 3_000, {});
  await sleep(300);
  await end();
  expect(of('reconcile').map(({ reconcile, retryOf }) => [reconcile, retryOf])).toEqual([
    ['a', undefined],
    ['b', { id: 'k-000001', result: 'error' }],
    ['early', undefined],
    ['due', { id: 'k-000003', result: 'requeue_after' }],
    ['later', undefined],
    ['after a restart', undefined],
  ]);
});

test('a write without a reconcile names the event of its own write only if that came last, a moment before', async () => {
  const { calls, end, of } = await recorder();
  let passedAt = now();
  const write = (version: number, afterMs: number): void => {
    const object = deployment(version, version);
    calls.hooks.served(served(`PATCH ${APPS}/web`, 200, object, { at: passedAt + afterMs }));
    calls.hooks.watched(watchLine('MODIFIED', object), now(), WATCH);
    passedAt = now();
  };
  calls.hooks.served(served(`GET ${APPS}/web`, 200, deployment(1, 1), { at: passedAt - 1_000 }));
  for (const [version, afterMs] of [
    [2, 100],
    [3, 100],
    [4, 400],
  ] as const)
    write(version, afterMs);
  await end();
  expect(of('call').map(({ after }) => after)).toMatchObject([
    [],
    [{ isOwn: true, changes: ['~spec.replicas=2'] }],
    [],
  ]);
});

test('an event that passes after a reconcile has begun belongs to the next one, even if the begin is reported later', async () => {
  const { calls, end, of } = await recorder();
  const object = { controller: 'web', kind: 'Deployment', namespace: 'shop', name: 'web' };
  calls.hooks.served(served(`GET ${APPS}/web`, 200, deployment(1, 1)));
  const early = Date.now() - 10;
  await sleep(5);
  calls.hooks.watched(watchLine('MODIFIED', deployment(2, 2)), now(), WATCH);
  calls.reported.begun({ reconcile: 'a', at: early, ...object });
  calls.reported.begun({ reconcile: 'b', at: Date.now() + 1, ...object });
  for (const reconcile of ['a', 'b'])
    calls.reported.ended({ reconcile, at: Date.now() + 2, result: 'success' });
  await sleep(300);
  await end();
  expect(of('reconcile').map(({ after }) => after.length)).toEqual([0, 1]);
});

test('what repeats is told with the controller whose reconciles did it', async () => {
  const { calls, end, of } = await recorder();
  const object = { kind: 'Deployment', namespace: 'shop', name: 'web' };
  calls.reported.begun({ reconcile: 'a', at: Date.now(), controller: 'web', ...object });
  for (let times = 0; times < 5; times++)
    calls.hooks.served(
      served(
        `PUT ${APPS}/web`,
        409,
        { kind: 'Status', message: 'old' },
        { reconcile: 'a', at: now() + times * 2_000 },
      ),
    );
  await end();
  expect(of('warning')).toMatchObject([
    { code: 'calls.conflicts', values: { controller: 'web', times: 5, verb: 'update', cause: 'old' } },
  ]);
});

test('nothing is found wrong once the session ends, and what the controller does is still recorded', async () => {
  const { calls, ending, end, of } = await recorder();
  ending.abort();
  for (let times = 0; times < 20; times++)
    calls.hooks.served(
      served(`PUT ${APPS}/web`, 409, { kind: 'Status', message: 'old' }, { at: now() + times * 1_000 }),
    );
  expect(await end()).toHaveLength(20);
  expect(of('warning')).toEqual([]);
});

test('values of Secrets are in no record, and heartbeats are not recorded', async () => {
  const { calls, end } = await recorder();
  const secret = (value: string, version: string) => ({
    ...{ apiVersion: 'v1', kind: 'Secret', data: { key: Buffer.from(value).toString('base64') } },
    metadata: { name: 's', namespace: 'shop', uid: 'u2', resourceVersion: version },
  });
  const path = '/api/v1/namespaces/shop/secrets/s';
  calls.hooks.served(served(`GET ${path}`, 200, secret('first-value', '1')));
  await sleep(5);
  calls.hooks.served(served(`PUT ${path}`, 200, secret('second-value', '2')));
  const lease = '/apis/coordination.k8s.io/v1/namespaces/shop/leases/leader';
  calls.hooks.served(served(`PUT ${lease}`, 200, { kind: 'Lease', metadata: { name: 'leader' } }));
  calls.hooks.served(served(`PUT ${lease}`, 409, { kind: 'Status', message: 'conflict' }));
  const token = 'https://ann:s3cr3t-pass@git.example.com/x';
  calls.reported.begun({ reconcile: 'a', at: Date.now(), controller: 'c', name: 'n' });
  calls.reported.ended({ reconcile: 'a', at: Date.now(), result: 'error', error: `cannot clone ${token}` });
  calls.hooks.served(served('POST /api/v1/pods', 422, { kind: 'Status', message: `bad url ${token}` }));
  const all = await end();
  expect(JSON.stringify(all)).not.toContain('s3cr3t-pass');
  const records = all.filter(({ id }) => id.startsWith('c-') && id < 'c-000004');
  const text = JSON.stringify(records);
  for (const value of ['first-value', 'second-value'])
    expect(text).not.toContain(Buffer.from(value).toString('base64'));
  expect(records).toMatchObject([{ verb: 'get' }, { verb: 'update' }, { code: 409, message: 'conflict' }]);
});

test('what the controller reports is read line by line, and what is no report is ignored', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'calls-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const seen: unknown[] = [];
  const path = join(directory, 's');
  const note = (one: unknown): void => void seen.push(one);
  await using _ = await listenForReports(path, { begun: note, ended: note });
  const socket = connect(path);
  const lines = [
    '{"begin":"a","at":1.5,"controller":"c","name":"n"}',
    'not JSON',
    'null',
    '{"begin":7,"at":1,"name":"n"}',
    '{"end":"a","at":2,"result":"unheard of"}',
    '{"end":"a","at":2.5,"result":"error","error":"boom"}',
  ];
  const text = `${lines.join('\n')}\n`;
  socket.write(text.slice(0, 30));
  await sleep(20);
  socket.write(text.slice(30));
  await expect.poll(() => seen.length).toBe(2);
  expect(seen).toMatchObject([
    { reconcile: 'a', at: 1.5, controller: 'c', name: 'n' },
    { reconcile: 'a', at: 2.5, result: 'error', error: 'boom' },
  ]);
  socket.write('x'.repeat(100_000));
  await new Promise((resolve) => socket.once('close', resolve));
});

test('what the cluster sends may have any shape', async () => {
  const { calls, end } = await recorder();
  const odd = { ...deployment(1, 1), metadata: { name: 'web', ownerReferences: {}, managedFields: 7 } };
  calls.hooks.watched(watchLine('MODIFIED', odd as never), now(), WATCH);
  for (const answer of [odd, null, [], { kind: 'X', metadata: null }, { items: [null, 7], kind: 'XList' }])
    calls.hooks.served(served(`PUT ${APPS}/web`, 200, answer as never));
  calls.hooks.served(served(`GET ${APPS}`, 200, { items: [null, 7], kind: 7 }));
  expect((await end()).length).toBeGreaterThan(0);
});

test('what the API server warns of is in the record of the call, and of its reconcile', async () => {
  const { calls, end } = await recorder();
  calls.reported.begun({ reconcile: 'a', at: Date.now(), controller: 'c', name: 'n' });
  const call = served(`PUT ${APPS}/web`, 200, deployment(2, 4), { reconcile: 'a' });
  const warnings = ['unknown field "spec.colour"', 'see https://ann:s3cr3t-pass@git.example.com/x'];
  calls.hooks.served({ ...call, answer: { ...call.answer!, warnings, reviews: ['u1'] } });
  calls.reported.ended({ reconcile: 'a', at: Date.now(), result: 'success' });
  const records = await end();
  const told = { group: 'apps', warnings: [warnings[0], expect.any(String)], reviews: ['u1'] };
  expect(records).toMatchObject([told, { calls: [told] }]);
  expect(JSON.stringify(records)).not.toContain('s3cr3t-pass');
});

test('the last reconciles are recorded although the session ends at once', async () => {
  const { calls, directory } = await recorder();
  const begun = { controller: 'c', name: 'n', at: Date.now() };
  calls.reported.begun({ reconcile: 'a', ...begun });
  calls.reported.begun({ reconcile: 'b', ...begun });
  calls.reported.ended({ reconcile: 'a', at: Date.now(), result: 'success' });
  calls.exited();
  await calls[Symbol.asyncDispose]();
  expect(await readCalls(directory)).toMatchObject([
    { reconcile: 'a', result: 'success' },
    { reconcile: 'b', result: 'ended' },
  ]);
});

test('metadata of a Secret are as secret as the Secret itself', async () => {
  const { calls, end } = await recorder();
  const meta = (version: string, value: string): object => ({
    ...{ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' },
    metadata: {
      name: 's',
      namespace: 'shop',
      uid: 'u3',
      resourceVersion: version,
      annotations: { copy: value },
    },
  });
  const path = '/api/v1/namespaces/shop/secrets/s';
  calls.hooks.served(served(`GET ${path}`, 200, meta('1', 'aHVudGVyMQ==')));
  await sleep(5);
  calls.hooks.served(served(`PATCH ${path}`, 200, meta('2', 'aHVudGVyMg==')));
  expect(JSON.stringify(await end())).not.toContain('aHVudGVy');
});

test('an object whose creation is refused has the name that the refusal gives', async () => {
  const { calls, end } = await recorder();
  const refusal = { kind: 'Status', message: 'bad', details: { name: 'web', kind: 'Deployment' } };
  calls.hooks.served(served(`POST ${APPS}`, 422, refusal));
  calls.hooks.served(served(`POST ${APPS}`, 403, { kind: 'Status', message: 'no', details: null }));
  const records = await end();
  expect(records.map((one) => ('verb' in one ? one.name : 'no call'))).toEqual(['web', undefined]);
});

import { beforeEach, expect, it } from 'vitest';
import type { WebhookConfiguration } from '../../../src/cluster/api/objects.ts';
import { observe } from '../../../src/cluster/marks/observe.ts';
import { undoOf } from '../../../src/cluster/marks/undo.ts';
import { SESSION_LABEL, UNDO_ANNOTATION } from '../../../src/cluster/names.ts';
import { findMarked } from '../../../src/cluster/takeover/find-marked.ts';
import {
  isChanged,
  type RestoreResult,
  removeCreated,
  restoreWebhookTimes,
} from '../../../src/cluster/takeover/restore-steps.ts';
import { giveTime, WEBHOOKS } from '../../../src/cluster/takeover/webhook-time.ts';
import type { Work } from '../../../src/cluster/work.ts';
import { type FakeCluster, fakeCluster } from '../../support/fake-cluster.ts';

const KIND = 'ValidatingWebhookConfiguration';
const ref = { kind: KIND, name: 'hooks' } as const;
const first = { name: 'a.example.com', timeoutSeconds: 10, failurePolicy: 'Fail' };
const second = { name: 'b.example.com', timeoutSeconds: 30, failurePolicy: 'Ignore' };
const other = { name: 'other.example.com', timeoutSeconds: 3, failurePolicy: 'Fail' };

let cluster: FakeCluster;
let work: Work;

beforeEach(() => {
  cluster = fakeCluster();
  work = { api: cluster.api, sessionId: 's1', emit: () => {}, signal: new AbortController().signal };
  const webhooks = [other, first, second].map((one) => ({ ...one, clientConfig: {} }));
  cluster.put<WebhookConfiguration>(KIND, { metadata: { name: 'hooks' }, webhooks });
});

const now = (): Record<string, [number, string]> =>
  Object.fromEntries(
    cluster
      .read<WebhookConfiguration>(KIND, 'hooks')!
      .webhooks!.map(({ name, timeoutSeconds, failurePolicy }) => [
        name.split('.')[0],
        [timeoutSeconds!, failurePolicy!],
      ]),
  );
const give = (ignore = false): Promise<void> => giveTime(ref, [first, second], { ignore })!.apply(work);
const restore = async (): Promise<RestoreResult[]> =>
  await restoreWebhookTimes(work, (await findMarked(cluster.api, [], { sessionId: 's1' })).marked);
const edit = (change: (webhooks: NonNullable<WebhookConfiguration['webhooks']>) => void): void =>
  cluster.edit<WebhookConfiguration>(KIND, 'hooks', undefined, ({ webhooks }) => change(webhooks!));

const BEFORE = { other: [3, 'Fail'], a: [10, 'Fail'], b: [30, 'Ignore'] };

it.each([
  [false, { ...BEFORE, a: [30, 'Fail'] }],
  [true, { ...BEFORE, a: [30, 'Ignore'] }],
])('webhooks get time, and it is taken from them again (ignore: %s)', async (ignore, after) => {
  await give(ignore);
  expect(now()).toEqual(after);
  expect(await restore()).toEqual([{ ref, kept: [] }]);
  expect(now()).toEqual(BEFORE);
  const { labels, annotations } = cluster.read(KIND, 'hooks')!.metadata;
  expect([labels, annotations]).toEqual([undefined, undefined]);
});

it('plans nothing for webhooks that have their time', () => {
  expect(giveTime(ref, [second], { ignore: true })).toBeUndefined();
  expect(giveTime(ref, [first, second], { ignore: true })!.changes).toEqual([
    { action: 'update', object: ref, detail: 'timeoutSeconds 10 -> 30, failurePolicy Fail -> Ignore' },
  ]);
});

it('marks nothing where all of these webhooks are gone since it was planned', async () => {
  const goneSince = async (change: Parameters<typeof edit>[0]): Promise<void> => {
    edit(change);
    const before = cluster.read(KIND, 'hooks');
    await give();
    expect(cluster.read(KIND, 'hooks')).toEqual(before);
  };
  await goneSince((webhooks) => webhooks.splice(1));
  cluster.edit<WebhookConfiguration>(KIND, 'hooks', undefined, (hooks) => delete hooks.webhooks);
  await goneSince(() => {});
});

it('has nothing to restore in a configuration without any webhook', async () => {
  await give();
  cluster.edit<WebhookConfiguration>(KIND, 'hooks', undefined, (hooks) => delete hooks.webhooks);
  expect(
    observe(cluster.read(KIND, 'hooks')!, undoOf(cluster.read(KIND, 'hooks')!, WEBHOOKS) as never),
  ).toMatchObject({ differing: [] });
  expect(await restore()).toEqual([{ ref, kept: [] }]);
  expect(cluster.read(KIND, 'hooks')!.metadata.labels).toBeUndefined();
});

it('finds a webhook by its name wherever it has moved, and its caBundle is nobody else’s', async () => {
  await give();
  edit((webhooks) => {
    webhooks.reverse();
    for (const one of webhooks) one.clientConfig.caBundle = 'new';
  });
  expect(await restore()).toEqual([{ ref, kept: [] }]);
  expect(now()).toEqual(BEFORE);
});

it('keeps what somebody else has set', async () => {
  await give(true);
  edit((webhooks) => {
    webhooks[1]!.timeoutSeconds = 7;
  });
  const path = ['webhooks', 'a.example.com', 'timeoutSeconds'];
  expect(await restore()).toEqual([{ ref, kept: [{ path, now: 7, before: 10 }] }]);
  expect(now()).toEqual({ ...BEFORE, a: [7, 'Fail'] });
});

it('leaves out a webhook that somebody has removed', async () => {
  await give(true);
  edit((webhooks) => void webhooks.splice(1, 1));
  const object = cluster.read<WebhookConfiguration>(KIND, 'hooks')!;
  const changes = undoOf(object, WEBHOOKS);
  expect('fault' in changes ? changes : observe(object, changes).differing).toEqual([]);
  expect(await restore()).toEqual([{ ref, kept: [] }]);
  expect(now()).toEqual({ other: [3, 'Fail'], b: [30, 'Ignore'] });
});

it('knows who set a timeout', () => {
  const managedFields = [
    {
      manager: 'helm',
      operation: 'Update',
      time: '2026-01-01T00:00:00Z',
      fieldsV1: { 'f:webhooks': { 'k:{"name":"a.example.com"}': { '.': {}, 'f:timeoutSeconds': {} } } },
    },
    {
      manager: 'cainjector',
      operation: 'Update',
      time: '2026-01-02T00:00:00Z',
      fieldsV1: {
        'f:webhooks': { 'k:{"name":"a.example.com"}': { 'f:clientConfig': { 'f:caBundle': {} } } },
      },
    },
  ];
  const webhooks = [{ ...first, clientConfig: {} }];
  const object: WebhookConfiguration = { metadata: { name: 'hooks', managedFields }, webhooks };
  const change = { path: ['webhooks', first.name, 'timeoutSeconds'], before: 10, after: 30 };
  expect(observe(object, [change]).differing[0]?.by?.manager).toBe('helm');
});

const field = (name: string, values: object): object => ({
  path: ['webhooks', 'a.example.com', name],
  ...values,
});

it.each([
  ['another field', field('sideEffects', { before: 'Some', after: 'None' })],
  ['another way', { path: ['webhooks', 'a.example.com', 'clientConfig', 'url'], before: 'x', after: 30 }],
  ['the whole list', { path: ['webhooks'], before: [], after: 30 }],
  ['a field of the object', { path: ['metadata', 'x', 'timeoutSeconds'], before: 10, after: 30 }],
  ['no number', field('timeoutSeconds', { before: '10', after: 30 })],
  ['a number that Kubernetes refuses', field('timeoutSeconds', { before: 31, after: 30 })],
  ['no value', field('timeoutSeconds', { after: 30 })],
  ['another result', field('timeoutSeconds', { before: 10, after: 29 })],
  ['a policy that nobody knows', field('failurePolicy', { before: 'x', after: 'Ignore' })],
  ['a stricter policy', field('failurePolicy', { before: 'Ignore', after: 'Fail' })],
])('an undo of %s is not carried out', async (_, change) => {
  const undo = JSON.stringify({ v: 1, fields: [change] });
  cluster.edit(KIND, 'hooks', undefined, ({ metadata }) => {
    metadata.labels = { [SESSION_LABEL]: 's1' };
    metadata.annotations = { [UNDO_ANNOTATION]: undo };
  });
  expect(await restore()).toEqual([{ ref, kept: [{ fault: expect.any(String) }] }]);
  expect(now()).toEqual(BEFORE);
});

it('a configuration of the user’s is never deleted, whatever its label says', async () => {
  cluster.edit(KIND, 'hooks', undefined, ({ metadata }) => {
    metadata.labels = { [SESSION_LABEL]: 's1' };
  });
  const probe = { name: 'devloop-probe-s1-x', labels: { [SESSION_LABEL]: 's1' } };
  cluster.put(KIND, { metadata: probe });
  const { marked } = await findMarked(cluster.api, [], { sessionId: 's1' });
  expect(marked.map((one) => [one.ref.name, isChanged(one.ref, 's1')]).sort()).toEqual([
    ['devloop-probe-s1-x', false],
    ['hooks', true],
  ]);
  await removeCreated(work, marked);
  expect(cluster.names(KIND)).toEqual(['hooks']);
});

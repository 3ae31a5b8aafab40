import { expect, test } from 'vitest';
import { jsonPath } from '../../../../src/config/json-path.ts';
import { normalised } from '../../../../src/session/crashing/normalised.ts';

const UID = '0b1f8a52-97d0-4f0f-9d3a-2f6a51a3a7c1';
const object = (more: object, metadata: object = {}) =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', uid: UID, resourceVersion: '7', generation: 3, ...metadata },
    ...more,
  }) as never;
const plain = { known: new Map<string, string>(), ignored: [], hasOwnStatus: true };

test('what the API server sets anew in each run is left out', () => {
  const one = object({
    status: { observedGeneration: 3, at: '2026-01-01T10:00:00Z', ref: { resourceVersion: '5' } },
  });
  const other = object(
    { status: { observedGeneration: 4, at: '2026-01-02T11:00:00Z', ref: { resourceVersion: '9' } } },
    {
      uid: UID.replace('0', '1'),
      resourceVersion: '99',
      generation: 4,
      creationTimestamp: '2026-01-01T10:00:00Z',
    },
  );
  expect(normalised(one, plain)).toEqual(normalised(other, plain));
  expect(normalised(object({ status: { observedGeneration: 2 } }), plain)).not.toEqual(
    normalised(object({ status: { observedGeneration: 3 } }), plain),
  );
});

test('uids and generated names stand for what they name', () => {
  const known = new Map([
    [UID, '<uid of Pod shop/web>'],
    ['web-x1', 'web-*'],
  ]);
  const owned = object(
    { spec: { podName: 'web-x1', other: UID.replace('0', '2') } },
    { ownerReferences: [{ uid: UID, name: 'web' }] },
  );
  expect(normalised(owned, { ...plain, known })).toMatchObject({
    metadata: { ownerReferences: [{ uid: '<uid of Pod shop/web>' }] },
    spec: { podName: 'web-*', other: '<uid>' },
  });
});

test('conditions have no order, secrets no values, and what the user ignores is not compared', () => {
  const conditions = [{ type: 'Ready' }, { type: 'Available' }];
  const one = normalised(object({ status: { conditions } }), plain);
  expect(one).toEqual(normalised(object({ status: { conditions: conditions.toReversed() } }), plain));
  const secret = normalised(
    { kind: 'Secret', apiVersion: 'v1', metadata: { name: 's' }, data: { key: 'c2VjcmV0' } } as never,
    plain,
  );
  expect(JSON.stringify(secret)).not.toContain('c2VjcmV0');
  const ignored = [jsonPath('.status.count')!];
  expect(normalised(object({ status: { count: 1 } }), { ...plain, ignored })).toEqual(
    normalised(object({ status: { count: 2 } }), { ...plain, ignored }),
  );
});

test('a status counts only if the controller writes it, and where others put things does not', () => {
  const ready = object({ spec: { nodeName: 'one' }, status: { phase: 'Running' } });
  const pending = object({ spec: { nodeName: 'two' }, status: { phase: 'Pending' } });
  expect(normalised(ready, plain)).not.toEqual(normalised(pending, plain));
  const ofOthers = { ...plain, hasOwnStatus: false };
  expect(normalised(ready, ofOthers)).toEqual(normalised(pending, ofOthers));
  expect(normalised(object({ spec: {} }), plain)).not.toEqual(
    normalised(object({ spec: { nodeName: 'one' } }), plain),
  );
  const revision = (at: string): never =>
    object({}, { annotations: { 'deployment.kubernetes.io/revision': at } });
  expect(normalised(revision('1'), plain)).toEqual(normalised(revision('2'), plain));
});

test('the order of lists says something only in what is wanted', () => {
  const status = (...shards: string[]): never =>
    object({ status: { shards: shards.map((name) => ({ at: 'x', name })) } });
  expect(normalised(status('a', 'b'), plain)).toEqual(normalised(status('b', 'a'), plain));
  expect(normalised(status('a', 'b'), plain)).not.toEqual(normalised(status('a', 'c'), plain));
  const finalizers = (...all: string[]): never => object({}, { finalizers: all });
  expect(normalised(finalizers('a', 'b'), plain)).toEqual(normalised(finalizers('b', 'a'), plain));
  const spec = (...args: string[]): never => object({ spec: { args } });
  expect(normalised(spec('a', 'b'), plain)).not.toEqual(normalised(spec('b', 'a'), plain));
});

test('another value of a Secret is seen, never shown, and ignored if the user wants that', () => {
  const secret = (password: string): never =>
    ({
      kind: 'Secret',
      apiVersion: 'v1',
      metadata: { name: 's' },
      data: { password, user: 'YW5u' },
    }) as never;
  const [one, other] = ['b25l', 'b3RoZXI='].map((password) => normalised(secret(password), plain));
  expect(one).toEqual(normalised(secret('b25l'), plain));
  expect(one).not.toEqual(other);
  expect(JSON.stringify([one, other])).not.toMatch(/b25l|b3RoZXI|YW5u/);
  const ignored = { ...plain, ignored: [jsonPath('.data.password')!] };
  expect(normalised(secret('b25l'), ignored)).toEqual(normalised(secret('b3RoZXI='), ignored));
});

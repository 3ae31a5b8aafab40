import { expect, it } from 'vitest';
import { objectPath } from '../../../src/cluster/api/kinds.ts';
import { recordWrites, type Write } from '../../../src/cluster/api/writes.ts';
import { guard } from '../../../src/cluster/marks/marks.ts';
import { relationTo } from '../../../src/cluster/takeover/own-writes.ts';
import type { AdmissionRequest } from '../../../src/cluster/takeover/reviewed.ts';

const namespace = 'shop';
const DEPLOYMENTS = { group: 'apps', version: 'v1', resource: 'deployments' };
const CONFIG_MAPS = { group: '', version: 'v1', resource: 'configmaps' };
const SECRETS = { group: '', version: 'v1', resource: 'secrets' };
const named = (resourceVersion: string, uid = 'u1') => ({ metadata: { name: 'foo', uid, resourceVersion } });
const path = objectPath({ kind: 'Deployment', namespace, name: 'foo' });

const write = (method: string, to: string, body: unknown, isDryRun = false): Write => ({
  ...{ method, path: to, body, isDryRun },
});
const patch = write('PATCH', path, [
  ...guard(named('7')),
  { op: 'replace', path: '/spec/replicas', value: 0 },
]);
const update = (more: Partial<AdmissionRequest> = {}): AdmissionRequest => ({
  ...{ operation: 'UPDATE', resource: DEPLOYMENTS, requestResource: DEPLOYMENTS, namespace, name: 'foo' },
  ...{ object: named('7'), oldObject: named('7'), ...more },
});

it.each<[string, Write, AdmissionRequest]>([
  ['a guarded JSON patch', patch, update()],
  ['a guarded merge patch', write('PATCH', path, { metadata: { resourceVersion: '7' } }), update()],
  ['a replacement', write('PUT', path, named('7')), update()],
  [
    'a change of the scale',
    write('PATCH', `${path}/scale`, { metadata: { resourceVersion: '7' } }),
    update({ subResource: 'scale', requestSubResource: 'scale' }),
  ],
  [
    'a patch that the webhook gets in another version',
    patch,
    update({ resource: { ...DEPLOYMENTS, version: 'v1beta1' } }),
  ],
  [
    'a dry run',
    write('POST', '/api/v1/namespaces/shop/configmaps', named('', ''), true),
    { operation: 'CREATE', resource: CONFIG_MAPS, namespace, name: '', dryRun: true, object: named('') },
  ],
  [
    'a deletion of one object',
    write('DELETE', '/api/v1/namespaces/shop/secrets/foo', { preconditions: { uid: 'u1' } }),
    { operation: 'DELETE', resource: SECRETS, namespace, name: 'foo', oldObject: named('9') },
  ],
])('the review of %s is about that write', (_, one, review) => {
  expect(relationTo(review, one)).toBe('its');
});

const removal = write('DELETE', '/api/v1/namespaces/shop/secrets/foo', { preconditions: { uid: 'u1' } });
const removed: AdmissionRequest = { operation: 'DELETE', resource: SECRETS, namespace, name: 'foo' };

it.each<[string, Write, AdmissionRequest]>([
  ['another version of the object', patch, update({ object: named('8'), oldObject: named('8') })],
  ['another object', patch, update({ name: 'bar' })],
  ['another namespace', patch, update({ namespace: 'other' })],
  ['a subresource of the object', patch, update({ requestSubResource: 'status' })],
  ['the deletion of the object', patch, update({ operation: 'DELETE' })],
  ['a write that names no version', write('PATCH', path, { spec: {} }), update()],
  ['the dry run of a write', patch, update({ dryRun: true })],
  ['a later object of that name', removal, { ...removed, oldObject: named('9', 'u2') }],
  ['an update of what is deleted', removal, { ...removed, operation: 'UPDATE', oldObject: named('9') }],
  [
    'the creation of another object',
    write('POST', '/api/v1/namespaces/shop/configmaps', named('')),
    {
      ...{ operation: 'CREATE', resource: CONFIG_MAPS, namespace, name: 'bar' },
      object: { metadata: { name: 'bar' } },
    },
  ],
  ['a conversion', patch, {}],
])('the review of %s is not', (_, one, review) => {
  expect(relationTo(review, one)).toBeUndefined();
});

it('a write of a version that has been replaced is known, since the API server will refuse it', () => {
  expect(relationTo(update({ oldObject: named('8') }), patch)).toBe('stale');
});

it('writes are recorded until they are answered, reads are not', async () => {
  const answers: Record<string, PromiseWithResolvers<unknown>> = {};
  const { call, writes } = recordWrites((method) => {
    answers[method] = Promise.withResolvers();
    return answers[method].promise as Promise<never>;
  });
  const calls = ['GET', 'POST', 'DELETE'].map((method) => call(method, '/x', { a: 1 }));
  const failed = expect(calls[2]).rejects.toThrow('no');
  expect([...writes].map(({ method }) => method)).toEqual(['POST', 'DELETE']);
  answers.POST!.resolve({});
  answers.DELETE!.reject(new Error('no'));
  await Promise.all([calls[1], failed]);
  expect([...writes]).toEqual([]);
  answers.GET!.resolve({});
  await calls[0];
});

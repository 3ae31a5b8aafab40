import { expect, it } from 'vitest';
import { apiCall } from '../../../src/api-proxy/api-call.ts';
import { InFlight } from '../../../src/calls/in-flight.ts';

const SHOPS = '/apis/example.com/v1/namespaces/a/shops';

function review(more: object = {}): Buffer {
  const request = {
    ...{ uid: 'u1', name: 'web', namespace: 'a', operation: 'UPDATE' },
    ...{ resource: { group: 'example.com', version: 'v1', resource: 'shops' } },
    ...{ userInfo: { username: 'manager' }, ...more },
  };
  return Buffer.from(JSON.stringify({ kind: 'AdmissionReview', request }));
}

function uidDuring(line: string, asked: Buffer): string | undefined {
  const flying = new InFlight((user) => user === 'manager');
  const [method = '', url = ''] = line.split(' ');
  const call = apiCall({ method, url });
  flying.begun(call);
  const uid = flying.uidIfCaused(asked);
  flying.ended(call);
  expect(flying.uidIfCaused(asked)).toBe(undefined);
  return uid;
}

it.each([
  ['an update', `PUT ${SHOPS}/web`, review()],
  ['a patch of the status', `PATCH ${SHOPS}/web/status`, review({ subResource: 'status' })],
  ['a dry run', `PATCH ${SHOPS}/web?dryRun=All`, review({ dryRun: true })],
  ['a create with generateName', `POST ${SHOPS}`, review({ name: '' })],
  ['the deletion of a collection', `DELETE ${SHOPS}`, review()],
  [
    'another version of the API',
    `PUT ${SHOPS}/web`,
    review({
      resource: { group: 'old.example.com', resource: 'shops' },
      requestResource: { group: 'example.com', resource: 'shops' },
    }),
  ],
])('a review may be caused by %s in flight', (_, line, asked) => {
  expect(uidDuring(line, asked)).toBe('u1');
});

it.each([
  ['somebody else', `PUT ${SHOPS}/web`, review({ userInfo: { username: 'ann' } })],
  ['another object', `PUT ${SHOPS}/other`, review()],
  ['another namespace', `PUT ${SHOPS}/web`, review({ namespace: 'b' })],
  ['another resource', '/apis/example.com/v1/namespaces/a/carts/web', review()],
  ['a subresource', `PUT ${SHOPS}/web`, review({ subResource: 'status' })],
  ['no write', `GET ${SHOPS}/web`, review()],
  ['what is no review', `PUT ${SHOPS}/web`, Buffer.from('null')],
  ['what is not JSON', `PUT ${SHOPS}/web`, Buffer.from('{')],
])('a review of %s is not', (_, line, asked) => {
  expect(uidDuring(line.startsWith('/') ? `PUT ${line}` : line, asked)).toBe(undefined);
});

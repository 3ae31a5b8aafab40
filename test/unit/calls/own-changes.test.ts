import { expect, test } from 'vitest';
import { apiCall } from '../../../src/api-proxy/api-call.ts';
import { managerOf, ownChanges } from '../../../src/calls/own-changes.ts';

const call = apiCall({ method: 'PATCH', url: '/api/v1/namespaces/a/configmaps/web' });

/** A ConfigMap that this manager has written. */
function written(manager: string, count: string) {
  const fieldsV1 = { 'f:data': { 'f:count': {} } };
  const managedFields = [
    { manager, operation: 'Update' as const, apiVersion: 'v1', fieldsType: 'FieldsV1' as const, fieldsV1 },
  ];
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'web', managedFields }, data: { count } };
}

const CHANGED = [{ op: 'replace' as const, path: '/data/count', value: '2' }];

test.each([
  ['that has written it', { 'user-agent': 'shop/v1' }, 'shop', CHANGED],
  ['that others have overtaken', { 'user-agent': 'shop/v1' }, 'kubectl', []],
  ['that does not say what it is', {}, 'unknown', CHANGED],
])('the changes of a client %s', (_, headers, manager, expected) => {
  const write = {
    call,
    manager: managerOf(call, headers),
    before: written(manager, '1'),
    after: written(manager, '2'),
  };
  expect(ownChanges(CHANGED, write)).toEqual(expected);
});

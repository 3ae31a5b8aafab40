import { expect, test } from 'vitest';
import { type ApiCall, apiCall, isWrite } from '../../../src/api-proxy/api-call.ts';

const APPLY = 'application/apply-patch+yaml';
const CRDS = '/apis/shop.example.com/v1';

function called(line: string, contentType?: string): ApiCall {
  const [method = '', url = ''] = line.split(' ');
  const isUpgrade = method === 'UPGRADE';
  return apiCall({ method: isUpgrade ? 'GET' : method, url, contentType }, isUpgrade);
}

test.each<[string, string, string, object]>([
  ['GET /api/v1/pods?limit=500', '', 'list', { group: '', version: 'v1', resource: 'pods' }],
  ['GET /api/v1/namespaces/a/pods?watch=true', '', 'watch', { resource: 'pods', namespace: 'a' }],
  ['GET /api/v1/pods?watch=True', '', 'watch', { resource: 'pods' }],
  ['GET /api/v1/pods?watch', '', 'watch', { resource: 'pods' }],
  ['GET /api/v1/pods?watch=False', '', 'list', { resource: 'pods' }],
  ['GET /api/v1/namespaces/a', '', 'get', { resource: 'namespaces', name: 'a' }],
  [
    'PUT /api/v1/namespaces/a/finalize',
    '',
    'update',
    { resource: 'namespaces', name: 'a', subresource: 'finalize' },
  ],
  [
    `POST ${CRDS}/namespaces/a/orders`,
    '',
    'create',
    { group: 'shop.example.com', resource: 'orders', namespace: 'a' },
  ],
  [`PATCH ${CRDS}/namespaces/a/orders/o/status`, '', 'patch', { name: 'o', subresource: 'status' }],
  [`PATCH ${CRDS}/namespaces/a/orders/o?fieldManager=m`, APPLY, 'apply', { name: 'o' }],
  [`DELETE ${CRDS}/orders/o`, '', 'delete', { resource: 'orders', name: 'o' }],
  [`DELETE ${CRDS}/namespaces/a/orders`, '', 'deletecollection', { resource: 'orders', namespace: 'a' }],
  ['UPGRADE /api/v1/namespaces/a/pods/p/exec?command=ls', '', 'connect', { name: 'p', subresource: 'exec' }],
  ['UPGRADE /api/v1/pods?watch=1', '', 'watch', { resource: 'pods' }],
])('%s', (line, contentType, verb, resource) => {
  expect(called(line, contentType)).toMatchObject({ verb, resource });
});

test('paths that name no resource, or that nobody knows, have none', () => {
  for (const path of ['/version', '/apis/apps/v1', '/api', '/', '//', '/healthz?verbose', '/other/v1/pods'])
    expect(called(`GET ${path}`)).toMatchObject({ verb: 'get', isDryRun: false });
  expect(called('GET /apis/apps/v1').resource).toBeUndefined();
  expect(called('GET /api/v1/pods/%E0%A4%A')).toMatchObject({ resource: { name: '%E0%A4%A' } });
});

test('what is not known to only read counts as a write', () => {
  const writes = [
    `POST ${CRDS}/orders`,
    `PATCH ${CRDS}/orders/o`,
    `DELETE ${CRDS}/orders`,
    'UPGRADE /api/v1/namespaces/a/pods/p/exec',
    'POST /unknown',
    'BREW /api/v1/pods',
    `POST ${CRDS}/orders?dryRun=None`,
  ];
  const reads = [
    'GET /api/v1/pods',
    'HEAD /api/v1/pods/p',
    'POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    `POST ${CRDS}/orders?dryRun=All`,
  ];
  expect(writes.map((line) => isWrite(called(line)))).toEqual(writes.map(() => true));
  expect(reads.map((line) => isWrite(called(line)))).toEqual(reads.map(() => false));
});

test('what only seems to read, or to be a dry run, counts as a write', () => {
  const pod = '/api/v1/namespaces/a/pods/p';
  for (const line of [
    `UPGRADE ${pod}/exec?command=sh&watch=true`,
    `GET ${pod}/proxy/anything`,
    'GET /api/v1/nodes/n/proxy',
    // Of a deletion with a body, kube-apiserver ignores the query.
    `DELETE ${pod}?dryRun=All`,
    'DELETE /api/v1/namespaces/a/pods?dryRun=All',
    'POST /other/path?dryRun=All',
  ])
    expect(isWrite(called(line)), line).toBe(true);
});

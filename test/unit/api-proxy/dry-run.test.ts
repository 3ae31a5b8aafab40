import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { apiCall, isAmbiguous } from '../../../src/api-proxy/api-call.ts';
import { DryRun } from '../../../src/api-proxy/dry-run.ts';
import { lengthDelimited, nameInProtobuf } from '../../../src/api-proxy/protobuf.ts';
import { NotStarted } from '../../../src/cluster/api/pass-on.ts';

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const made = () => new DryRun((group) => group === 'metrics.example.com');

function passed(dry: DryRun, method: string, path: string, body = '', type = 'application/json'): unknown {
  const call = apiCall({ method, url: path, contentType: type });
  try {
    const sent = dry.pass(call, { 'content-type': type }, { kept: Buffer.from(body, 'latin1') });
    return [dry.asked(call, path).path, sent.toString('latin1')];
  } catch (error) {
    if (!(error instanceof NotStarted)) throw error;
    const { code, body: own } = error.why as { code: number; body?: Buffer };
    return own === undefined ? code : [code, own.toString('latin1')];
  }
}

test.each<[string, string, unknown]>([
  ['GET', '/api/v1/pods', ['/api/v1/pods', '']],
  ['GET', '/apis/apps/v1/deployments?watch=true', ['/apis/apps/v1/deployments?watch=true', '']],
  ['POST', '/api/v1/namespaces/a/configmaps', ['/api/v1/namespaces/a/configmaps?dryRun=All', '']],
  ['PUT', '/apis/a.io/v1/widgets/w/status?x=1', ['/apis/a.io/v1/widgets/w/status?x=1&dryRun=All', '']],
  ['PATCH', '/api/v1/namespaces/a/services/s', ['/api/v1/namespaces/a/services/s?dryRun=All', '']],
  ['DELETE', '/api/v1/namespaces/a/pods/p', ['/api/v1/namespaces/a/pods/p?dryRun=All', '']],
  ['POST', '/api/v1/namespaces/a/pods/p/eviction', ['/api/v1/namespaces/a/pods/p/eviction?dryRun=All', '']],
  // Questions store nothing.
  [
    'POST',
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    ['/apis/authorization.k8s.io/v1/subjectaccessreviews', ''],
  ],
  // The token of a dry run works.
  ['POST', '/api/v1/namespaces/a/serviceaccounts/s/token', 405],
  ['POST', '/api/v1/namespaces/a/pods/p/binding', 405],
  ['POST', '/api/v1/namespaces/a/bindings', 405],
  ['POST', '/api/v1/namespaces/a/pods/p/exec?command=ls', 405],
  ['GET', '/api/v1/namespaces/a/services/s/proxy/delete-all', 405],
  ['POST', '/apis/metrics.example.com/v1/things', 405],
  ['POST', '/some/webhook', 405],
  // What the client itself calls a dry run is judged as well.
  [
    'POST',
    '/api/v1/namespaces/a/configmaps??dryRun=All',
    ['/api/v1/namespaces/a/configmaps??dryRun=All&dryRun=All', ''],
  ],
  [
    'POST',
    '/api/v1/namespaces/a/configmaps?dryRun=All',
    ['/api/v1/namespaces/a/configmaps?dryRun=All&dryRun=All', ''],
  ],
  ['POST', '/api/v1/namespaces/a/serviceaccounts/s/token?dryRun=All', 405],
  ['POST', '/apis/metrics.example.com/v1/things?dryRun=All', 405],
  // What a controller tells.
  ['POST', '/api/v1/namespaces/a/events', [201, '']],
  ['PATCH', '/apis/events.k8s.io/v1/namespaces/a/events/e', 404],
  ['GET', '/apis/coordination.k8s.io/v1/namespaces/a/leases/l', 404],
])('%s %s', (method, path, expected) => {
  expect(passed(made(), method, path)).toEqual(expected);
});

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/a/leases';

test('a Lease is created, read and renewed without the API server, in the type in which it is sent', () => {
  const dry = made();
  const lease = JSON.stringify({ metadata: { name: 'l' }, spec: { holderIdentity: 'me' } });
  expect(passed(dry, 'POST', LEASES, lease)).toEqual([201, lease]);
  expect(passed(dry, 'GET', `${LEASES}/l`)).toEqual([200, lease]);
  expect(passed(dry, 'GET', `${LEASES}/other`)).toBe(404);
  const renewed = lease.replace('me', 'me again');
  expect(passed(dry, 'PUT', `${LEASES}/l`, renewed)).toEqual([200, renewed]);
  expect(passed(dry, 'GET', `${LEASES}/l`)).toEqual([200, renewed]);
  const metadata = lengthDelimited(1, lengthDelimited(1, Buffer.from('p')));
  const body = `k8s\0${lengthDelimited(2, metadata).toString('latin1')}`;
  expect(nameInProtobuf(Buffer.from(body, 'latin1'))).toBe('p');
  expect(passed(dry, 'POST', LEASES, body, PROTOBUF)).toEqual([201, body]);
  expect(passed(dry, 'GET', `${LEASES}/p`)).toEqual([200, body]);
});

const POD = '/api/v1/namespaces/a/pods/p';

test('the options of a deletion say that it is dry, since kube-apiserver reads only those', () => {
  const options = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: 'u' } };
  const [, sent] = passed(made(), 'DELETE', POD, JSON.stringify(options)) as [string, string];
  expect(JSON.parse(sent)).toEqual({ ...options, dryRun: ['All'] });
  const typeMeta = lengthDelimited(1, Buffer.from('type'));
  const raw = lengthDelimited(2, Buffer.from([0x0a, 0x01, 0x75]));
  const body = Buffer.concat([Buffer.from('k8s\0'), typeMeta, lengthDelimited(2, raw)]).toString('latin1');
  const dried = Buffer.concat([lengthDelimited(5, Buffer.from('All')), raw]);
  expect(passed(made(), 'DELETE', POD, body, PROTOBUF)).toEqual([
    `${POD}?dryRun=All`,
    Buffer.concat([Buffer.from('k8s\0'), typeMeta, lengthDelimited(2, dried)]).toString('latin1'),
  ]);
});

test.each([
  ['not JSON', '{', 'application/json'],
  ['another type', 'a: b', 'application/yaml'],
  ['no protobuf', 'k8s', PROTOBUF],
  ['protobuf that is cut', 'k8s\0\x12\x7f', PROTOBUF],
  ['protobuf whose last field is cut', 'k8s\0\x12\x02\x7a\x05', PROTOBUF],
])('a deletion whose options cannot be read is not sent: %s', (_, body, type) => {
  expect(passed(made(), 'DELETE', POD, body, type)).toBe(405);
});

test('a deletion whose options are not whole is not sent', () => {
  const call = apiCall({ method: 'DELETE', url: POD });
  const body = { kept: Buffer.from('{}'), rest: Readable.from([]) };
  expect(() => made().pass(call, {}, body)).toThrow(NotStarted);
});

test.each([
  ['/api/v1/namespaces/a/pods%2Fp%2Fexec', true],
  ['/api/v1/namespaces/a/serviceaccounts/s%2Ftoken', true],
  ['/api/v1/namespaces/proxy/pods%2Fp%2Fexec', true],
  ['/api/v1/nodes/n1%2Fproxy/x', true],
  ['/api/v1/pods/%ff', true],
  ['/api/v1/namespaces/a/services/s/proxy/a%2Fb', false],
  ['/apis/apps/v1/deployments?fieldSelector=a%2Fb', false],
])('kube-apiserver may understand %s otherwise: %s', (url, expected) => {
  expect(isAmbiguous(apiCall({ method: 'GET', url }))).toBe(expected);
});

import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { apiCall } from '../../../src/api-proxy/api-call.ts';
import { Needs } from '../../../src/calls/needs.ts';
import { NeedsFile, readNeeds } from '../../../src/calls/needs-file.ts';

const APPLY = 'application/apply-patch+yaml';
const PODS = '/api/v1/namespaces/shop/pods';

interface Call {
  status?: number;
  contentType?: string;
  headers?: Record<string, string>;
  isOwn?: true;
}

function served(
  needs: Needs,
  line: string,
  { status = 200, contentType, headers = {}, isOwn }: Call = {},
): void {
  const [method = '', url = ''] = line.split(' ');
  const isUpgrade = 'upgrade' in headers;
  const call = apiCall({ method, url, contentType }, isUpgrade);
  const answer = { status, headers: {}, bytes: 0 };
  needs.served({ call, at: 0, headers, answer, ms: 1, ...(isOwn && { isOwn }) });
}

/** `create :pods/exec in shop x2 (a)` */
function needed(line: string, call: Call = {}): string[] {
  const needs = new Needs();
  served(needs, line, call);
  return inWords(needs);
}

function inWords(needs: Needs): string[] {
  return needs.sum().needs.map(({ verb, group, resource, path, namespace, names, calls, refused }) => {
    const what = path ?? `${group}:${resource}`;
    const where = namespace === undefined ? '' : ` in ${namespace}`;
    const counts = `${calls}${refused > 0 ? `-${refused}` : ''}`;
    return `${verb} ${what}${where} (${names.join()}) ${counts}`;
  });
}

test.each<[string, Call, string[]]>([
  ['GET /version', {}, ['get /version () 1']],
  [`GET ${PODS}/web`, {}, ['get :pods in shop (web) 1']],
  [`GET ${PODS}/web`, { status: 404 }, ['get :pods in shop (web) 1']],
  [`DELETE ${PODS}`, {}, ['deletecollection :pods in shop () 1']],
  [`POST ${PODS}`, { status: 201 }, ['create :pods in shop () 1']],
  [`POST ${PODS}/web/eviction`, { status: 201 }, ['create :pods/eviction in shop (web) 1']],
  [`PUT ${PODS}/web/status`, {}, ['update :pods/status in shop (web) 1']],
  // A list is not always a cache's; one that was refused is looked at as if it were.
  [`GET ${PODS}`, {}, ['list :pods in shop () 1']],
  [`GET ${PODS}`, { status: 403 }, ['list :pods in shop () 1-1', 'watch :pods in shop () 0']],
  [`GET ${PODS}?fieldSelector=metadata.name%3Dweb`, {}, ['list :pods in shop (web) 1']],
  [`GET ${PODS}?fieldSelector=metadata.name!%3Dweb`, {}, ['list :pods in shop () 1']],
  [`PATCH ${PODS}/web`, { contentType: APPLY }, ['patch :pods in shop (web) 1']],
  [
    `PATCH ${PODS}/web`,
    { contentType: APPLY, status: 201 },
    ['patch :pods in shop (web) 1', 'create :pods in shop (web) 1'],
  ],
  [`PATCH ${PODS}/web`, { status: 403 }, ['patch :pods in shop (web) 1-1']],
  // devloop answered it, so nobody judged it; the controller will ask for it again.
  [`DELETE ${PODS}/web`, { status: 403, isOwn: true }, ['delete :pods in shop (web) 1']],
  [`GET ${PODS}/web/exec`, { headers: { upgrade: 'websocket' } }, ['get :pods/exec in shop (web) 1']],
  [`POST ${PODS}/web/exec`, { headers: { upgrade: 'SPDY/3.1' } }, ['create :pods/exec in shop (web) 1']],
  ['GET /api/v1/namespaces/shop/services/web/proxy/a/b', {}, ['get :services/proxy in shop (web) 1']],
  // kube-apiserver asks about a namespace in itself.
  ['GET /api/v1/namespaces/shop', {}, ['get :namespaces in shop (shop) 1']],
  ['POST /api/v1/namespaces/shop/events', { status: 201 }, ['create :events in shop () 1']],
  [
    `GET ${PODS}/web`,
    { headers: { 'impersonate-user': 'system:serviceaccount:a:b', 'impersonate-group': 'x, y' } },
    ['impersonate :serviceaccounts in a (b) 1', 'impersonate :groups (x,y) 2'],
  ],
])('%s %o', (line, call, expected) => {
  expect(needed(line, call)).toEqual(expected);
});

test('a watch is needed from its begin, once, and a cache that watches also lists', () => {
  const needs = new Needs();
  const url = `${PODS}?watch=true`;
  needs.opened(apiCall({ method: 'GET', url }), {});
  const both = ['watch :pods in shop () 1', 'list :pods in shop () 0'];
  expect(inWords(needs)).toEqual(both);
  served(needs, `GET ${url}`);
  expect(inWords(needs)).toEqual(both);
  served(needs, `GET ${url}`, { status: 403 });
  expect(inWords(needs)[0]).toBe('watch :pods in shop () 2-1');
});

test('however many calls there are, the sum stays small, and says what it left out', () => {
  const needs = new Needs();
  for (let count = 0; count < 100; count++) served(needs, `GET ${PODS}/p${count}`);
  const [pods] = needs.sum().needs;
  expect(pods).toMatchObject({ calls: 100, moreNames: true });
  expect(pods!.names.length).toBeLessThan(100);
  expect(needs.sum().cut).toBeUndefined();
  for (let count = 0; count < 100; count++) served(needs, `GET /api/v1/namespaces/n${count}/pods/p`);
  expect(needs.sum().cut).toEqual(['namespaces']);
  for (let count = 0; count < 2_000; count++) served(needs, `GET /apis/g${count}/v1/things`);
  expect(needs.sum().cut).toEqual(['namespaces', 'accesses']);
  // What is known goes on being counted.
  served(needs, `GET ${PODS}/p1`);
  expect(needs.sum()).toMatchObject({
    calls: 2_201,
    needs: expect.arrayContaining([expect.objectContaining({ calls: 101 })]),
  });
  expect(JSON.stringify(needs.sum()).length).toBeLessThan(500_000);
});

test('the sum is in the directory of the session, whole, and with whose it is', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'needs-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const needs = new Needs();
  const of = {
    since: '2026-11-29T00:00:00.000Z',
    cluster: { context: 'dev', server: 'https://dev', kubeconfig: ['/k'] },
    namespace: 'shop',
  };
  const errors: unknown[] = [];
  expect(await readNeeds(directory)).toBeUndefined();
  await using file = new NeedsFile(directory, { of, needs }, (error) => errors.push(error));
  served(needs, `GET ${PODS}/web`);
  file.changed();
  await expect.poll(() => readNeeds(directory)).toMatchObject({ ...of, calls: 1 });
  served(needs, `DELETE ${PODS}/web`);
  file.changed();
  // The end does not wait for the next time.
  await file[Symbol.asyncDispose]();
  expect(await readNeeds(directory)).toMatchObject({
    calls: 2,
    needs: [{ verb: 'get' }, { verb: 'delete' }],
  });
  expect([await readdir(directory), errors]).toEqual([['needs.json'], []]);
});

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { type Live, liveValues } from '../../../src/session/live-values.ts';
import { eventually } from '../../support/eventually.ts';
import { directoryWith } from '../controller/support/places.ts';

type Given = Record<string, string>;

/** A place with a kubeconfig for this server, and what a shell is offered there. */
async function placeWith(answer: RequestListener, user: object = { token: 'x' }, contexts: string[] = []) {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const cwd = await directoryWith({
    '.git/HEAD': '',
    config: JSON.stringify({
      'current-context': 'test',
      clusters: [{ name: 'test', cluster: { server: `http://127.0.0.1:${port}` } }],
      contexts: ['test', ...contexts].map((name) => ({ name, context: { cluster: 'test', user: 'test' } })),
      users: [{ name: 'test', user }],
    }),
  });
  const env = { HOME: cwd, XDG_STATE_HOME: join(cwd, 'state'), KUBECONFIG: join(cwd, 'config') };
  const io = { cwd, env, signal: new AbortController().signal };
  return {
    cwd,
    offered: (live: Live, typed = '', given: Given = {}) => liveValues(live, { typed, given, io }),
  };
}

/** An API server in which every kind has the objects of these names. */
function serving(...names: string[]): RequestListener {
  return ({ url = '' }, response) => {
    const namespace = /namespaces\/([^/?]+)\//.exec(url)?.[1] ?? 'shop';
    const items = names.map((name) => ({ metadata: { name, namespace } }));
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ items, metadata: {} }));
  };
}

it('offers only names as Kubernetes allows them, whatever the server sends', async () => {
  const bad = ['$(touch RAN)', '`id`', 'a b', 'a\nb', '-rf', 'a;b', 'A', "a'b", '../x', 'a\x1b[2J', ''];
  const { offered } = await placeWith(serving('web', ...bad));
  await eventually(async () => expect(await offered('service')).toEqual(['shop/web']));
  await eventually(async () => expect(await offered('namespace')).toEqual(['web']));
  const others = await placeWith(serving('ok'), { token: 'x' }, [
    '$(touch RAN)',
    'a b',
    'arn:aws:eks:x',
    '-x',
  ]);
  expect(await others.offered('context')).toEqual(['test', 'arn:aws:eks:x']);
});

it('offers objects with their namespaces, or without where a namespace is set', async () => {
  const { offered } = await placeWith(serving('web', 'api'));
  const expected: [Live, string, Given, string[]][] = [
    ['service', '', { namespace: 'other' }, ['web', 'api']],
    ['service', 'a', { namespace: 'other' }, ['api']],
    ['service', 'third/w', { namespace: 'other' }, ['third/web']],
    ['deployment', '', { namespace: 'other' }, ['shop/web', 'shop/api']],
    ['service', '$(id)/', {}, []],
  ];
  for (const [live, typed, given, values] of expected)
    await eventually(async () => expect(await offered(live, typed, given)).toEqual(values));
});

it('asks for the namespace of the context where all namespaces may not be seen', async () => {
  const { offered } = await placeWith((request, response) => {
    if (request.url === '/readyz') return response.end('ok');
    if (request.url!.includes('/namespaces/default/')) return serving('web')(request, response);
    response.writeHead(403, { 'content-type': 'application/json' });
    return response.end(JSON.stringify({ kind: 'Status', reason: 'Forbidden', message: 'no', code: 403 }));
  });
  await eventually(async () => expect(await offered('service')).toEqual(['default/web']));
});

it('returns without names if the server does not answer, or answers anything else', async () => {
  const silent = await placeWith(() => undefined);
  expect(await silent.offered('namespace')).toEqual([]);
  const garbled = await placeWith((_, response) => void response.end('<html>'));
  expect(await garbled.offered('workload')).toEqual([]);
});

it('starts no credential plugin', async () => {
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: './plugin',
    interactiveMode: 'Never',
  };
  const { cwd, offered } = await placeWith(serving('web'), {
    exec: { ...exec, command: 'touch', args: ['RAN'] },
  });
  expect(await offered('namespace')).toEqual([]);
  expect(existsSync(join(cwd, 'RAN'))).toBe(false);
});

it('knows the sets of the checkout and their reviews, and numbers for ids', async () => {
  const cwd = await directoryWith({
    '.git/HEAD': '',
    'testdata/reviews/web.ndjson':
      '{"at":"x","id":"r-000007"}\nnot JSON\n{"id":"$(id)"}\n{"id":"r-000041"}\n',
    'testdata/reviews/$(id).ndjson': '',
    'testdata/web.ndjson': '{"id":"r-000001"}\n',
  });
  const env = { HOME: cwd, XDG_STATE_HOME: join(cwd, 'state') };
  const io = { cwd, env, signal: new AbortController().signal };
  const offered = (live: Live, typed: string, given: Given = {}) => liveValues(live, { typed, given, io });
  expect(await offered('set', '')).toEqual(['web']);
  expect(await offered('review', '', { set: 'web' })).toEqual(['r-000007', 'r-000041']);
  expect(await offered('review', '4', { set: 'web' })).toEqual(['41']);
  // What is no set is not opened: a pipe would never be.
  expect(await offered('review', '', { set: '../web' })).toEqual([]);
  // Without a session, there are none.
  for (const live of ['review', 'call', 'reconcile', 'fault', 'session'] as const)
    expect(await offered(live, '')).toEqual([]);
});

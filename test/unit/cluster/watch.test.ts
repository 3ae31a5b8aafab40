import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ClusterApi, connect } from '../../../src/cluster/api/client.ts';
import { loadKubeconfig } from '../../../src/cluster/api/kubeconfig.ts';
import type { KubeObject } from '../../../src/cluster/api/objects.ts';
import { watchObjects } from '../../../src/cluster/api/watch.ts';
import { eventually } from '../../support/eventually.ts';

const SCOPE = { kind: 'Service', namespace: 'shop', name: 'hook' } as const;

let server: Server;
let directory: string;
let api: ClusterApi;
/** The watches that are open. */
let watches: ServerResponse[];
let requests: URL[];
let list: () => { status?: number; body: unknown };
let watchStatus: number;

beforeEach(async () => {
  watches = [];
  requests = [];
  watchStatus = 200;
  list = allowed;
  server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  directory = await mkdtemp(join(tmpdir(), 'devloop-watch-'));
  const file = join(directory, 'config');
  const config = {
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'c', user: 'u' } }],
    clusters: [
      {
        name: 'c',
        cluster: {
          server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
          'insecure-skip-tls-verify': true,
        },
      },
    ],
    users: [{ name: 'u', user: { token: 'x' } }],
  };
  await writeFile(file, JSON.stringify(config));
  api = await connect(await loadKubeconfig({ kubeconfig: file }, {}, directory));
  // The first one loads the Kubernetes library.
}, 60_000);

afterEach(async () => {
  vi.useRealTimers();
  await api?.[Symbol.asyncDispose]();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(directory, { recursive: true, force: true });
});

function answer(request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url!, 'http://x');
  if (url.pathname === '/readyz') return void response.end('ok');
  requests.push(url);
  if (url.searchParams.get('watch') !== 'true') {
    const { status = 200, body } = list();
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    return;
  }
  const later = watchStatus === 429 ? { 'retry-after': '2' } : {};
  response.writeHead(watchStatus, { 'content-type': 'application/json', ...later });
  if (watchStatus !== 200) response.end(JSON.stringify({ message: 'refused', code: watchStatus }));
  else {
    response.flushHeaders();
    watches.push(response);
  }
}

function object(resourceVersion: string): KubeObject {
  return { metadata: { name: 'hook', namespace: 'shop', resourceVersion } };
}

function allowed(): ReturnType<typeof list> {
  return { body: { metadata: { resourceVersion: '10' }, items: [object('10')] } };
}

const send = (type: string, what: unknown): void =>
  void watches.at(-1)!.write(`${JSON.stringify({ type, object: what })}\n`);

interface Follower extends AsyncDisposable {
  /** The version of the object after each change; undefined while the object does not exist. */
  seen: (string | undefined)[];
  ended: Promise<void>;
}

function follow(): Follower {
  const ending = new AbortController();
  const seen: Follower['seen'] = [];
  const ended = watchObjects(api, SCOPE, {
    signal: ending.signal,
    onObjects: ([one]) => void seen.push(one?.metadata.resourceVersion),
  });
  ended.catch(() => {});
  return {
    seen,
    ended,
    async [Symbol.asyncDispose]() {
      ending.abort();
      await ended.catch(() => {});
    },
  };
}

const versions = (): (string | null)[] =>
  requests
    .filter((url) => url.searchParams.has('watch'))
    .map((url) => url.searchParams.get('resourceVersion'));
const lists = (): number => requests.filter((url) => !url.searchParams.has('watch')).length;

it('gives the object at first and after each change, by one list and one watch of that object alone', async () => {
  await using follower = follow();
  await eventually(async () => expect(watches).toHaveLength(1));
  send('MODIFIED', object('11'));
  send('DELETED', object('12'));
  send('ADDED', object('13'));
  await eventually(async () => expect(follower.seen).toEqual(['10', '11', undefined, '13']));
  expect(requests).toHaveLength(2);
  for (const url of requests) {
    expect(url.pathname).toBe('/api/v1/namespaces/shop/services');
    expect(url.searchParams.get('fieldSelector')).toBe('metadata.name=hook');
  }
  expect(versions()).toEqual(['10']);
});

it('continues after the end of a watch where it was, also when only a bookmark said so', async () => {
  await using follower = follow();
  await eventually(async () => expect(watches).toHaveLength(1));
  send('MODIFIED', object('11'));
  send('BOOKMARK', { metadata: { resourceVersion: '20' } });
  watches[0]!.end();
  await eventually(async () => expect(watches).toHaveLength(2));
  expect(versions()).toEqual(['10', '20']);
  expect(lists()).toBe(1);
  expect(follower.seen).toEqual(['10', '11']);
});

it('reads an event that arrives in pieces', async () => {
  await using follower = follow();
  await eventually(async () => expect(watches).toHaveLength(1));
  const line = `${JSON.stringify({ type: 'MODIFIED', object: { ...object('11'), spec: { note: 'für' } } })}\n`;
  const bytes = Buffer.from(line);
  const middle = bytes.indexOf(0xc3) + 1;
  watches[0]!.write(bytes.subarray(0, middle));
  watches[0]!.write(bytes.subarray(middle));
  await eventually(async () => expect(follower.seen).toEqual(['10', '11']));
});

it.each([
  [
    'is told that its version is too old',
    () => send('ERROR', { code: 410, reason: 'Expired', message: 'too old' }),
  ],
  ['loses its connection', () => void watches[0]!.destroy()],
  ['cannot read an event', () => void watches[0]!.write('not JSON\n')],
])('lists again when it %s', async (_, happen) => {
  await using follower = follow();
  await eventually(async () => expect(watches).toHaveLength(1));
  list = () => ({ body: { metadata: { resourceVersion: '30' }, items: [] } });
  happen();
  await eventually(async () => expect(watches).toHaveLength(2));
  expect(follower.seen).toEqual(['10', undefined]);
  expect(versions()).toEqual(['10', '30']);
});

it('comes back when an overloaded API server wants it to', async () => {
  watchStatus = 429;
  await using follower = follow();
  await eventually(async () => expect(versions()).not.toEqual([]));
  await sleep(1_000);
  expect(versions()).toEqual(['10']);
  watchStatus = 200;
  await eventually(async () => expect(watches).toHaveLength(1));
  expect(follower.seen).toEqual(['10', '10']);
});

it('keeps trying while the API server fails', async () => {
  list = () => ({ status: 500, body: { message: 'etcd is away' } });
  await using follower = follow();
  await eventually(async () => expect(lists()).toBeGreaterThan(1));
  list = () => ({ body: { metadata: { resourceVersion: '10' }, items: [object('10')] } });
  await eventually(async () => expect(follower.seen).toEqual(['10']));
});

it('asks less and less often where each watch is ended at once without an event', async () => {
  await using follower = follow();
  const at: number[] = [];
  for (let count = 1; count <= 4; count++) {
    await eventually(async () => expect(watches).toHaveLength(count));
    at.push(performance.now());
    watches.at(-1)!.end();
  }
  // 200, 400 and 800 ms: the pauses are not shorter, however slow this machine is.
  expect(at[3]! - at[0]!).toBeGreaterThanOrEqual(1_300);
  expect(lists()).toBe(1);
  expect(follower.seen).toEqual(['10']);
});

it('ends where watching is forbidden', async () => {
  watchStatus = 403;
  await using follower = follow();
  await expect(follower.ended).rejects.toMatchObject({ code: 'cluster.forbidden' });
});

describe('where watching is forbidden later', () => {
  const forbid = (): void => {
    list = () => ({ status: 403, body: { message: 'RBAC: clusterrole "admin" not found' } });
    watchStatus = 403;
    watches.at(-1)!.destroy();
  };

  it('goes on as soon as it is allowed again, as after a restart of the API server', async () => {
    await using follower = follow();
    await eventually(async () => expect(watches).toHaveLength(1));
    forbid();
    await eventually(async () => expect(lists()).toBeGreaterThan(2));
    list = allowed;
    watchStatus = 200;
    await eventually(async () => expect(watches).toHaveLength(2));
    expect(follower.seen).toEqual(['10', '10']);
  });

  it('ends after a minute', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    await using follower = follow();
    await eventually(async () => expect(watches).toHaveLength(1));
    forbid();
    await eventually(async () => expect(lists()).toBeGreaterThan(2));
    vi.advanceTimersByTime(60_000);
    await expect(follower.ended).rejects.toMatchObject({ code: 'cluster.forbidden' });
  });
});

it('lists page by page, and remembers no more than it has to', async () => {
  const page = (name: string, next?: string) => ({
    body: {
      metadata: { resourceVersion: '10', continue: next },
      items: [{ metadata: { name }, spec: 'large' }],
    },
  });
  list = () => (requests.length === 1 ? page('a', 'more') : page('b'));
  const ending = new AbortController();
  const seen: KubeObject[][] = [];
  const ended = watchObjects<KubeObject>(api, SCOPE, {
    signal: ending.signal,
    keep: ({ metadata: { name } }) => ({ metadata: { name } }),
    onObjects: (objects) => void seen.push(objects),
  });
  await eventually(async () => expect(watches).toHaveLength(1));
  send('MODIFIED', { metadata: { name: 'a', resourceVersion: '11' }, spec: 'large' });
  const both = [{ metadata: { name: 'a' } }, { metadata: { name: 'b' } }];
  await eventually(async () => expect(seen).toEqual([both, both]));
  expect(requests[1]!.searchParams.get('continue')).toBe('more');
  ending.abort();
  await ended;
});

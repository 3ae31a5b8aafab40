import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DevloopError } from '../../../src/errors.ts';
import { type PageServer, startPageServer } from '../../../src/page/server.ts';
import { eventually } from '../../support/eventually.ts';
import { callOf, reconcileOf, reviewOf, waitingReview } from '../../support/session-facts.ts';
import { type FakeSession, fakeSession } from './fake-session.ts';

let assets: string;
let session: FakeSession;
let server: PageServer;

beforeAll(async () => {
  assets = await mkdtemp(join(tmpdir(), 'page-'));
  for (const file of ['index.html', 'page.js', 'page.css', 'icon.svg'])
    await writeFile(join(assets, file), file);
});
afterAll(() => rm(assets, { recursive: true }));
beforeEach(async () => {
  session = fakeSession();
  server = await startPageServer(session, (file) => readFile(join(assets, file)));
});
afterEach(() => server[Symbol.asyncDispose]());

interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** fetch would not let a test choose its own Host, Origin and Cookie. */
function ask(
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
  content = '',
): Promise<Reply> {
  const { port, pathname } = new URL(server.url);
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port, path: pathname + path, method, headers },
      async (response) =>
        resolve({ status: response.statusCode!, headers: response.headers, body: await text(response) }),
    );
    sent.once('error', reject);
    sent.end(content);
  });
}

/** Holds as many connections as the server accepts, and takes each one again that it closes. */
const HOLDER = `
const open = () => require('node:net').connect(Number(process.argv[1]), '127.0.0.1').on('error', () => {}).once('connect', () => console.log('+')).once('close', () => setTimeout(open, 50));
for (let count = 0; count < 80; count++) open();`;

it.runIf(process.platform === 'linux' && process.getuid?.() === 0)(
  'another user cannot use up its connections',
  async () => {
    const args = ['-e', HOLDER, new URL(server.url).port];
    const holder = spawn(process.execPath, args, {
      uid: 65_534,
      cwd: '/',
      env: {},
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      let said = '';
      await new Promise<void>((resolve) => {
        holder.stdout.on('data', (chunk) => {
          said += chunk;
          if (said.length >= 80 * 2) resolve();
        });
      });
      // After 30 s, Node would close those that ask for nothing, and one of them might be in time.
      await eventually(async () => expect((await ask('')).status).toBe(200), 20_000);
    } finally {
      holder.kill('SIGKILL');
    }
  },
);

const origin = () => new URL(server.url).origin;
const tokenOf = (url: string) => new URL(url).hash.slice(1);

async function logIn(url = server.url): Promise<Record<string, string>> {
  const { headers, body } = await ask(
    'api/login',
    { origin: origin(), 'x-devloop-key': tokenOf(url) },
    'POST',
  );
  const [cookie = ''] = headers['set-cookie'] ?? [];
  return { cookie: cookie.split(';')[0]!, 'x-devloop-key': JSON.parse(body).key, origin: origin() };
}

describe('who may use it', () => {
  it('listens on the loopback address alone', async () => {
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/#[\w-]{32}$/);
    // Somebody who listens on all addresses listens on this one, too.
    await expect(fetch(server.url.replace('127.0.0.1', '127.0.0.2'))).rejects.toThrow('fetch failed');
  });

  it.each([
    ['another name that leads here', 'devloop.example.com'],
    ['another port', '127.0.0.1:1'],
    ['no port', '127.0.0.1'],
  ])('refuses a Host with %s', async (_, host) => {
    for (const path of ['', 'page.js', 'api/events', 'api/hold'])
      expect((await ask(path, { host })).status).toBe(403);
  });

  it.runIf(process.platform === 'linux' && process.getuid?.() === 0)(
    'lets no other user log in, not with a link that is valid either',
    async () => {
      const { port, pathname } = new URL(server.url);
      const headers = { origin: origin(), 'x-devloop-key': tokenOf(server.urlOnce()) };
      const asked = { host: '127.0.0.1', port, path: `${pathname}api/login`, method: 'POST', headers };
      const program = `require('http').request(${JSON.stringify(asked)}, (r) => console.log(r.statusCode)).end()`;
      const child = spawn(process.execPath, ['-e', program], { uid: 65_534, cwd: '/', env: {} });
      // The connection is closed as soon as it is known whose it is, before the answer or after it.
      expect(['', '403\n']).toContain(await text(child.stdout));
    },
  );

  it('answers to localhost, too', async () => {
    expect((await ask('', { host: `localhost:${new URL(server.url).port}` })).status).toBe(200);
  });

  it('gives a cookie that no script and no other path or site gets', async () => {
    const { headers, status } = await ask(
      'api/login',
      { origin: origin(), 'x-devloop-key': tokenOf(server.url) },
      'POST',
    );
    expect(status).toBe(200);
    const { pathname } = new URL(server.url);
    expect(headers['set-cookie']).toEqual([
      expect.stringMatching(new RegExp(`^devloop=[\\w-]{32}; Path=${pathname}; HttpOnly; SameSite=Strict$`)),
    ]);
  });

  it.each([
    ['a wrong token', { 'x-devloop-key': 'x'.repeat(32) }, 401],
    ['no token', {}, 401],
    ['another origin', { origin: 'http://127.0.0.1:1' }, 403],
    ['an origin that is none', { origin: 'null' }, 403],
  ])('gives none for %s', async (_, headers, status) => {
    const valid = { origin: origin(), 'x-devloop-key': tokenOf(server.url) };
    const without = 'x-devloop-key' in headers || 'origin' in headers ? valid : { origin: origin() };
    const reply = await ask('api/login', { ...without, ...headers }, 'POST');
    expect(reply).toMatchObject({ status });
    expect(reply.headers['set-cookie']).toBeUndefined();
  });

  it('takes the link that a browser was started with once', async () => {
    const url = server.urlOnce();
    expect((await logIn(url)).cookie).toMatch(/^devloop=/);
    expect((await ask('api/login', { origin: origin(), 'x-devloop-key': tokenOf(url) }, 'POST')).status).toBe(
      401,
    );
    expect((await logIn()).cookie).toMatch(/^devloop=/);
  });

  it('reads with the cookie alone', async () => {
    session.recorded.push(reviewOf(1));
    const { cookie = '' } = await logIn();
    const other = cookie.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x'));
    expect((await ask('api/reviews/r-000001', { cookie })).status).toBe(200);
    const read = [
      'api/reviews/r-000001',
      'api/calls/c-000001',
      'api/timeline/A//b',
      'api/changes',
      'api/events',
    ];
    for (const path of read) {
      expect((await ask(path)).status).toBe(401);
      expect((await ask(path, { cookie: other })).status).toBe(401);
      expect((await ask(path, { cookie, origin: 'https://example.com' })).status).toBe(403);
      expect((await ask(path, { cookie, 'sec-fetch-site': 'cross-site' })).status).toBe(403);
      expect((await ask(path, { cookie, 'sec-fetch-site': 'same-site' })).status).toBe(403);
    }
  });

  it('changes something by POST with the key alone, from its own origin', async () => {
    const valid = await logIn();
    const { cookie = '', 'x-devloop-key': key = '', origin: own = '' } = valid;
    const status = async (headers: Record<string, string>, method = 'POST') =>
      (await ask('api/hold', headers, method)).status;
    expect(await status(valid, 'GET')).toBe(405);
    expect(await status(valid, 'PUT')).toBe(405);
    expect(await status({ cookie, origin: own })).toBe(401);
    expect(await status({ cookie, origin: own, 'x-devloop-key': tokenOf(server.url) })).toBe(401);
    expect(await status({ 'x-devloop-key': key, origin: own })).toBe(401);
    expect(await status({ cookie, 'x-devloop-key': key })).toBe(403);
    expect(await status({ ...valid, origin: 'http://localhost' })).toBe(403);
    const path = 'api/reviews/r-000001/replay';
    expect((await ask(path, valid)).status).toBe(405);
    expect((await ask(path, { cookie, origin: own }, 'POST')).status).toBe(401);
    expect(session.acted).toEqual([]);
    expect(await status(valid)).toBe(200);
    expect((await ask(path, valid, 'POST')).status).toBe(200);
    expect(session.acted).toEqual(['hold', 'replay r-000001']);
  });
});

describe('faults', () => {
  const change = async (body: string, headers: Record<string, string>): Promise<Reply> =>
    await ask('api/faults', headers, 'POST', body);

  it('are added and cleared with the key alone', async () => {
    const valid = await logIn();
    const { cookie = '' } = valid;
    expect((await change('{"add":["409 update"]}', { cookie, origin: origin() })).status).toBe(401);
    expect((await ask('api/faults', valid)).status).toBe(405);
    expect(session.faulty).toEqual([]);
    expect((await change('{"add":["409 update"]}', valid)).status).toBe(200);
    expect(session.faulty).toMatchObject([{ rule: '409 update' }]);
    expect((await change('{"clear":["9"]}', valid)).status).toBe(200);
    expect(session.faulty).toEqual([]);
  });

  it.each(['', 'no', '{"add":"409 update"}', '{"clear":[1]}', JSON.stringify({ add: ['x'.repeat(70_000)] })])(
    'are not changed by %.20j',
    async (body) => {
      const reply = await change(body, await logIn());
      expect(reply.status).toBe(409);
      expect(session.faulty).toEqual([]);
    },
  );
});

describe('what it answers', () => {
  it('has a call, a reconcile, both as JSON, and the timeline of an object, to those who may read', async () => {
    session.called.push(callOf(1), reconcileOf(1));
    const asked: unknown[] = [];
    session.timeline = async (object) => {
      asked.push(object);
      return { entries: [], left: 3 };
    };
    const { cookie = '' } = await logIn();
    const paths = [
      'calls/c-000001',
      'reconciles/k-000001',
      'calls/c-000001/json',
      'timeline/Node//one%2Ftwo',
    ];
    const replies: unknown[] = [];
    for (const path of paths) {
      expect((await ask(`api/${path}`)).status).toBe(401);
      replies.push(JSON.parse((await ask(`api/${path}`, { cookie })).body));
    }
    expect(replies).toMatchObject([
      { call: { id: 'c-000001' } },
      { reconcile: { id: 'k-000001' }, log: ['log of k-000001'] },
      { text: 'json c-000001' },
      { left: 3 },
    ]);
    expect(asked).toEqual([{ kind: 'Node', name: 'one/two' }]);
    for (const path of [
      'calls/c-000009',
      'reconciles/c-000001',
      'calls/c-000001/curl',
      'timeline/Node/x/%E0%A4%A',
    ])
      expect((await ask(`api/${path}`, { cookie })).status, path).toBe(404);
  });

  it('lets nothing run, frame or keep it but itself', async () => {
    const { cookie = '' } = await logIn();
    for (const path of ['', 'page.js', 'api/changes', 'nowhere']) {
      const { headers } = await ask(path, { cookie });
      const policy = String(headers['content-security-policy']);
      expect(policy).toMatch(/default-src 'self';/);
      expect(policy).toMatch(/frame-ancestors 'none'/);
      expect(policy).toMatch(/require-trusted-types-for 'script'/);
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
      expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
    }
  });

  it('has nothing outside its path, and says where a link comes from', async () => {
    const { pathname } = new URL(server.url);
    for (const path of [
      '..',
      'nowhere',
      'api',
      'api/nothing',
      'api/reviews/r-000009',
      'api/reviews/r-000009/sh',
      'api/reviews/r-000009/constructor',
      '%2e%2e/page.js',
      'page.js/..',
    ]) {
      const { cookie = '' } = await logIn();
      const reply = await ask(path, { cookie });
      expect(reply.status, path).toBe(404);
      expect(reply.body).not.toContain(pathname);
    }
  });

  it('says why the session does not do what was asked', async () => {
    session.act = async () => {
      throw new DevloopError('usage.invalid', 'Session abcd1234 is ending.');
    };
    expect(await ask('api/hold', await logIn(), 'POST')).toMatchObject({
      status: 409,
      body: 'Session abcd1234 is ending.\n',
    });
  });
});

describe('the stream of events', () => {
  it('has the status, what was recorded, and what happens then, each review once', async () => {
    session.recorded.push(reviewOf(1), reviewOf(2));
    await using events = await follow();
    expect(await events.next('status')).toMatchObject({ state: { session: 'abcd1234' } });
    expect(await events.next('reviews')).toMatchObject([{ id: 'r-000001' }, { id: 'r-000002' }]);
    expect(await events.next('reviews')).toEqual([]);
    server.reviewed(reviewOf(2));
    server.reviewed(reviewOf(3));
    expect(await events.next('reviews')).toMatchObject([{ id: 'r-000003' }]);
    session.now = { ...session.now, health: 'held' };
    expect(await events.next('status')).toMatchObject({ health: 'held' });
  });

  it('has the reviews without an answer, and those that got one once', async () => {
    await using events = await follow();
    expect(await events.next('waiting')).toEqual([]);
    session.unanswered = [waitingReview()];
    expect(await events.next('waiting')).toMatchObject([{ waitsFor: 'release' }]);
    session.unanswered = [];
    server.reviewed(reviewOf(1));
    const types: string[] = [];
    while (types.at(-1) !== 'reviews [1]') types.push(await events.nextOf('waiting', 'reviews'));
    expect(types.slice(-2)).toEqual(['waiting [0]', 'reviews [1]']);
  });

  it('has what the controller answered late, after the review', async () => {
    const own = reviewOf(1, { verdict: 'answered-by-devloop' });
    const late = { verdict: 'denied', message: 'no', totalMs: 41_000 } as const;
    await using events = await follow();
    expect(await events.next('reviews')).toEqual([]);
    server.answeredLate({ id: own.id, late });
    server.reviewed(own);
    expect(await events.nextOf('reviews', 'late')).toBe('reviews [1]');
    expect(await events.next('late')).toEqual([{ id: own.id, late }]);
  });

  it('has calls and reconciles, each once', async () => {
    session.called.push(callOf(1), reconcileOf(1));
    await using events = await follow();
    expect(await events.next('calls')).toMatchObject([{ id: 'c-000001' }, { id: 'k-000001' }]);
    expect(await events.next('reviews')).toEqual([]);
    for (const one of [callOf(1), callOf(2), reconcileOf(1), reconcileOf(2)]) server.called(one);
    expect(await events.next('calls')).toMatchObject([{ id: 'c-000002' }, { id: 'k-000002' }]);
  });

  it('has the warnings and the faults, again after each change', async () => {
    await using events = await follow();
    expect(await events.next('warnings')).toEqual([]);
    expect(await events.next('faults')).toEqual([]);
    session.warned.push({ at: '', code: 'calls.conflicts', message: 'again and again' });
    expect(await events.next('warnings')).toMatchObject([{ code: 'calls.conflicts' }]);
    session.faulty.push({ id: '1', rule: '409 update', seen: 1, met: 1, isOver: false });
    expect(await events.next('faults')).toMatchObject([{ met: 1 }]);
  });

  it.each([
    ['r-000001,,', ['r-000002'], ['c-000001', 'k-000001', 'c-000002']],
    [',c-000001,k-000001', ['r-000001', 'r-000002'], ['c-000002']],
    ['r-000002,c-000002,', undefined, ['k-000001']],
    ['nonsense', ['r-000001', 'r-000002'], ['c-000001', 'k-000001', 'c-000002']],
  ])('continues behind what the page has: %s', async (last, reviews, calls) => {
    session.recorded.push(reviewOf(1), reviewOf(2));
    session.called.push(callOf(1), reconcileOf(1), callOf(2));
    await using events = await follow({ 'last-event-id': last });
    if (reviews) expect(await events.next('reviews')).toMatchObject(reviews.map((id) => ({ id })));
    expect(await events.next('calls')).toMatchObject(calls.map((id) => ({ id })));
    expect(await events.next('reviews')).toEqual([]);
  });

  it('misses none that arrives while the recording is read', async () => {
    session.reviews = async function* () {
      server.reviewed(reviewOf(1));
      server.reviewed(reviewOf(2));
      yield { reviews: [reviewOf(1)], late: [] };
    };
    await using events = await follow();
    expect(await events.next('reviews')).toMatchObject([{ id: 'r-000001' }]);
    expect(await events.next('reviews')).toEqual([]);
    expect(await events.next('reviews')).toMatchObject([{ id: 'r-000002' }]);
  });

  it('leaves a page that does not read, before it takes much memory', async () => {
    const { port, pathname } = new URL(server.url);
    const { cookie = '' } = await logIn();
    const page = connect(Number(port), '127.0.0.1');
    page.write(`GET ${pathname}api/events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nCookie: ${cookie}\r\n\r\n`);
    await once(page, 'readable');
    const message = 'x'.repeat(1_000_000);
    for (let number = 1; number <= 40; number++) {
      server.reviewed(reviewOf(number, { message }));
      // As long as the stream collects messages.
      if (number % 4 === 0) await sleep(60);
    }
    let bytes = 0;
    page.on('data', (chunk) => (bytes += chunk.length)).on('error', () => {});
    await once(page, 'close');
    expect(bytes).toBeLessThan(30_000_000);
  });

  it('leaves a page that does not get through what was recorded, before what happens meanwhile takes much memory', async () => {
    const done = Promise.withResolvers<void>();
    session.reviews = async function* () {
      await done.promise;
      yield { reviews: [], late: [] };
    };
    await using events = await follow();
    for (let number = 1; number <= 20_001; number++) server.called(callOf(number));
    await expect(events.next('calls')).rejects.toThrow();
    done.resolve();
  });

  it('keeps text of the cluster in one line of the stream', async () => {
    session.recorded.push(reviewOf(1, { message: 'no\n\nevent: status\ndata: {}\n\n' }));
    await using events = await follow();
    expect(await events.next('reviews')).toMatchObject([{ message: 'no\n\nevent: status\ndata: {}\n\n' }]);
    expect(await events.next('reviews')).toEqual([]);
  });
});

/** The messages of the stream, by type. */
async function follow(more: Record<string, string> = {}) {
  const leaving = new AbortController();
  const { cookie = '' } = await logIn();
  const [url] = server.url.split('#');
  const response = await fetch(`${url}api/events`, { headers: { cookie, ...more }, signal: leaving.signal });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  const messages: { type: string; data: unknown }[] = [];
  const read = async (): Promise<void> => {
    const { value = '', done } = await reader.read();
    if (done) throw new Error('the stream ended');
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop()!;
    for (const block of blocks.filter((one) => !one.startsWith('retry: '))) {
      const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s)));
      messages.push({ type: fields.event, data: JSON.parse(fields.data) });
    }
  };
  return {
    /** The type of the next message of one of these, and how many it has. */
    async nextOf(...types: string[]): Promise<string> {
      for (;;) {
        const at = messages.findIndex((one) => types.includes(one.type));
        if (at >= 0) {
          const { type, data } = messages.splice(at, 1)[0]!;
          return `${type} [${(data as unknown[]).length}]`;
        }
        await read();
      }
    },
    async next(type: string): Promise<unknown> {
      for (;;) {
        const at = messages.findIndex((one) => one.type === type);
        if (at >= 0) return messages.splice(at, 1)[0]!.data;
        await read();
      }
    },
    async [Symbol.asyncDispose]() {
      leaving.abort();
      await reader.closed.catch(() => {});
    },
  };
}

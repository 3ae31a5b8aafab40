import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import type { ServedCall } from '../../../src/api-proxy/observed.ts';
import { lengthDelimited } from '../../../src/api-proxy/protobuf.ts';
import { openApiProxy } from '../../../src/api-proxy/proxy.ts';
import { Injector } from '../../../src/faults/injector.ts';
import { parseRule } from '../../../src/faults/parse.ts';

/** A proxy in front of a server whose watches send what is written to `events`. */
async function proxied(...rules: string[]) {
  const faults = new Injector();
  const add = (text: string) => void faults.add([parseRule(text)]);
  rules.forEach(add);
  const events = new PassThrough();
  const arrived: string[] = [];
  const served: ServedCall[] = [];
  const watched: string[] = [];
  const crashed: string[] = [];
  const forward = async ({ method, path }: { method: string; path: string }): Promise<IncomingMessage> => {
    arrived.push(`${method} ${path}`);
    const isWatch = path.includes('watch=');
    const answer = (isWatch ? events : Readable.from([Buffer.from('{}')])) as unknown as IncomingMessage;
    return Object.assign(answer, { statusCode: 200, headers: { 'content-type': 'application/json' } });
  };
  const opened = await openApiProxy({
    upstream: { forward, forwardUpgrade: () => Promise.reject(new Error('no upgrade here')) },
    hooks: {
      served: (call) => void served.push(call),
      watched: (line) => void watched.push(String(line)),
    },
    faults,
    crash: (rule) => void crashed.push(rule),
  });
  onTestFinished(() => opened[Symbol.asyncDispose]());
  const { token } = opened.admit();
  const call = (method: string, path: string, body?: string | Buffer) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = opened.variables;
      const headers = { authorization: `Bearer ${token}` };
      const options = { host, port, path, method, headers, ca: opened.certificate, agent: false };
      request(options, resolve).on('error', reject).end(body);
    });
  const event = (name: string, type = 'MODIFIED'): void =>
    void events.write(`${JSON.stringify({ type, object: { metadata: { name, namespace: 'shop' } } })}\n`);
  return { add, call, event, events, arrived, served, watched, crashed };
}

const DEPLOYMENT = '/apis/apps/v1/namespaces/shop/deployments/web';
const WATCH = '/apis/apps/v1/deployments?watch=true';

test('a call is answered as the API server would, and does not reach it', async () => {
  const { call, arrived, served } = await proxied(
    '429 update deployments retry-after=5 count=1',
    '409 create',
  );
  const answer = await call('PUT', DEPLOYMENT);
  expect(answer).toMatchObject({ statusCode: 429, headers: { 'retry-after': '5' } });
  expect(JSON.parse(await text(answer))).toMatchObject({
    kind: 'Status',
    reason: 'TooManyRequests',
    code: 429,
  });
  const created = await call('POST', '/apis/apps/v1/namespaces/shop/deployments');
  expect(JSON.parse(await text(created))).toMatchObject({ reason: 'AlreadyExists', code: 409 });
  expect(await text(await call('PUT', DEPLOYMENT))).toBe('{}');
  expect(arrived).toEqual([`PUT ${DEPLOYMENT}`]);
  const rule = '429 update deployments retry-after=5 count=1';
  await expect
    .poll(() => served)
    .toMatchObject([
      { faults: [rule], isOwn: true, answer: { status: 429 } },
      { faults: ['409 create'], isOwn: true },
      { answer: { status: 200 } },
    ]);
});

test('a connection is closed without an answer', async () => {
  const { call, arrived, served } = await proxied('refuse get');
  await expect(call('GET', DEPLOYMENT)).rejects.toThrow('socket hang up');
  expect(arrived).toEqual([]);
  await expect.poll(() => served).toMatchObject([{ faults: ['refuse get'] }]);
  expect(served[0]).not.toHaveProperty('answer');
});

test('a call waits', async () => {
  const { call } = await proxied('delay=300ms get');
  const before = performance.now();
  expect((await call('GET', DEPLOYMENT)).statusCode).toBe(200);
  expect(performance.now() - before).toBeGreaterThan(290);
});

async function* linesOf(answer: IncomingMessage): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of answer) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop()!;
    for (const line of lines)
      yield (JSON.parse(line) as { object: { metadata: { name: string } } }).object.metadata.name;
  }
}

test('events are dropped from a watch that is open already, and nobody else sees them', async () => {
  const { call, add, event, watched } = await proxied();
  const names = linesOf(await call('GET', WATCH));
  event('web');
  expect((await names.next()).value).toBe('web');
  add('drop watch deployments name=web count=2');
  for (const name of ['web', 'other', 'web', 'web']) event(name);
  expect((await names.next()).value).toBe('other');
  expect((await names.next()).value).toBe('web');
  expect(watched).toHaveLength(3);
});

test('a watch ends in place of its next event, and bookmarks do not count', async () => {
  const { call, event } = await proxied('cut watch deployments count=1');
  const names = linesOf(await call('GET', WATCH));
  event('', 'BOOKMARK');
  expect((await names.next()).value).toBe('');
  event('web');
  await expect(names.next()).rejects.toThrow('aborted');
});

test('events that arrive in pieces are met once, and larger ones than are read pass', async () => {
  const { call, add, events, event } = await proxied('drop watch deployments name=web');
  const names = linesOf(await call('GET', WATCH));
  const line = (name: string, more = '') =>
    `${JSON.stringify({ type: 'ADDED', object: { metadata: { name }, more } })}\n`;
  events.write(line('web').slice(0, 20));
  await new Promise((resolve) => setTimeout(resolve, 20));
  events.write(line('web').slice(20) + line('a').slice(0, 10));
  await new Promise((resolve) => setTimeout(resolve, 20));
  events.write(line('a').slice(10));
  expect((await names.next()).value).toBe('a');
  add('drop watch deployments name=large');
  for (const piece of line('large', 'x'.repeat(2 ** 21)).match(/.{1,65536}|\n/g)!) events.write(piece);
  expect((await names.next()).value).toBe('large');
  event('web');
  event('b');
  expect((await names.next()).value).toBe('b');
});

const NAMED = JSON.stringify({ metadata: { name: 'web' } });
/** `{metadata: {generateName: 'web-'}}`, as client-go writes it. */
const GENERATED = Buffer.concat([
  Buffer.from('k8s\0'),
  lengthDelimited(2, lengthDelimited(1, lengthDelimited(2, Buffer.from('web-')))),
]);

test.each([
  ['name=web', NAMED, true],
  ['name=web-*', GENERATED, true],
  ['name=web', JSON.stringify({ metadata: { name: 'other' } }), false],
  ['name=web', 'no object', false],
])('what is to be created is named by its body: %s', async (name, body, isMet) => {
  const { call } = await proxied(`409 create deployments ${name}`);
  const { statusCode } = await call('POST', '/apis/apps/v1/namespaces/shop/deployments', body);
  expect(statusCode).toBe(isMet ? 409 : 200);
});

test('a controller is killed after its second write has arrived, and gets no answer', async () => {
  const { call, arrived, served, crashed } = await proxied('crash update deployments nth=2');
  expect((await call('PUT', DEPLOYMENT)).statusCode).toBe(200);
  expect(crashed).toEqual([]);
  await expect(call('PUT', DEPLOYMENT)).rejects.toThrow('socket hang up');
  expect(crashed).toEqual(['crash update deployments nth=2']);
  expect(arrived).toHaveLength(2);
  expect(served[1]).toMatchObject({ faults: crashed, answer: { status: 200 } });
});

test('a controller is killed before its write arrives, and what it sends then does not, either', async () => {
  const { call, arrived, crashed } = await proxied('crash-before update');
  await expect(call('PUT', DEPLOYMENT)).rejects.toThrow('socket hang up');
  expect(crashed).toEqual(['crash-before update count=1']);
  expect((await call('PUT', DEPLOYMENT)).statusCode).toBe(503);
  expect(arrived).toEqual([]);
});

import type { RequestListener } from 'node:http';
import { expect, test } from 'vitest';
import { reviewMark } from '../../../src/api-proxy/answer-warnings.ts';
import type { CallHooks, ServedCall } from '../../../src/api-proxy/observed.ts';
import { proxied } from '../../support/api-proxy.ts';

const WEB = '/apis/apps/v1/namespaces/shop/deployments/web';

async function observed(listener: RequestListener, hooks: Partial<CallHooks> = {}) {
  const served: ServedCall[] = [];
  const all = { served: (one: ServedCall) => void served.push(one), watched: () => {}, ...hooks };
  const { ask } = await proxied(listener, { hooks: all });
  return { ask: (method: string, path: string) => ask({ method, path }), served };
}

test('the reviews that a call caused are told to the hooks, and not to the controller', async () => {
  // A server in Node writes a header as Latin-1 if bytes follow.
  const old = Buffer.from('299 - "veraltet für v2"').toString('latin1');
  const warning = `${old}, 299 - "${reviewMark('u1')}"`;
  const begun: string[] = [];
  const { ask, served } = await observed(
    (_, response) => response.writeHead(200, { warning }).end(Buffer.from('{}')),
    {
      begun: ({ verb }) => void begun.push(verb),
    },
  );
  expect((await ask('PUT', WEB)).headers.warning).toBe(old);
  expect(begun).toEqual(['update']);
  await expect
    .poll(() => served)
    .toMatchObject([{ answer: { reviews: ['u1'], warnings: ['veraltet für v2'] } }]);
});

test('a write waits until its object was read, and reads wait for nothing', async () => {
  const arrived: string[] = [];
  const gate = Promise.withResolvers<void>();
  const asked: string[] = [];
  const { ask } = await observed(
    (sent, response) => {
      arrived.push(sent.method!);
      response.end('{}');
    },
    {
      beforeWrite({ verb }) {
        asked.push(verb);
        return gate.promise;
      },
    },
  );
  const written = ask('PATCH', WEB);
  await expect.poll(() => asked).toEqual(['patch']);
  await ask('GET', WEB);
  await ask('PATCH', `${WEB}?dryRun=All`);
  expect(arrived).toEqual(['GET', 'PATCH']);
  gate.resolve();
  await written;
  expect(arrived).toEqual(['GET', 'PATCH', 'PATCH']);
  await ask('PATCH', '/api/v1/namespaces/../pods/web');
  expect(asked).toEqual(['patch']);
});

test.each<[string, CallHooks['beforeWrite']]>([
  ['rejects', () => Promise.reject(new Error('no'))],
  [
    'throws',
    () => {
      throw new Error('no');
    },
  ],
])('a write goes on if what should learn about it %s', async (_, beforeWrite) => {
  const { ask, served } = await observed((_, response) => response.end('{}'), { beforeWrite: beforeWrite! });
  expect(await ask('PATCH', WEB)).toMatchObject({ status: 200 });
  await expect.poll(() => served).toMatchObject([{ call: { verb: 'patch' }, answer: { status: 200 } }]);
});

test('another protocol is refused as any call, and so it is recorded', async () => {
  const served: ServedCall[] = [];
  const hooks = { served: (one: ServedCall) => void served.push(one), watched: () => {} };
  const refusal = { code: 503, reason: 'ServiceUnavailable', message: 'not ours', retryAfterSeconds: 1 };
  const { ask, server } = await proxied(() => {}, { hooks, mayWrite: async () => refusal });
  const exec = { path: `${WEB}/exec`, headers: { connection: 'Upgrade', upgrade: 'SPDY/3.1' } };
  const answer = await ask(exec);
  expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
  expect(JSON.parse(answer.text)).toMatchObject({ kind: 'Status', message: 'not ours', code: 503 });
  await new Promise((resolve) => server.close(resolve));
  const watch = await ask({ ...exec, path: '/api/v1/pods?watch=true' });
  expect(JSON.parse(watch.text)).toMatchObject({ kind: 'Status', code: 503 });
  await expect
    .poll(() => served)
    .toMatchObject([
      { isOwn: true, call: { verb: 'connect' }, answer: { status: 503 } },
      { isOwn: true, call: { verb: 'watch' }, answer: { status: 503 } },
    ]);
});

test('calls that the end of the proxy cuts are told before that is over', async () => {
  const served: ServedCall[] = [];
  const hooks = { served: (one: ServedCall) => void served.push(one), watched: () => {} };
  const { proxy, send, arrived } = await proxied(() => {}, { hooks });
  for (const path of ['/api/v1/pods?watch=true', WEB])
    send({ path })
      .on('error', () => {})
      .end();
  await expect.poll(() => arrived).toHaveLength(2);
  await proxy[Symbol.asyncDispose]();
  expect(served).toHaveLength(2);
});

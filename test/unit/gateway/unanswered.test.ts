import { expect, it } from 'vitest';
import type { ServedReview } from '../../../src/gateway/hooks.ts';
import { longWay } from '../../support/long-way.ts';
import { ask, Controller, setUp } from './support.ts';

const review = (kind: string) => JSON.stringify({ kind, apiVersion: 'v1', request: { uid: '1' } });
const failed = {
  status: 503,
  body: { kind: 'Status', code: 503, message: expect.stringContaining('devloop') },
};
const allowed = { uid: '1', allowed: true, warnings: [expect.stringContaining('devloop')] };
const denied = {
  uid: '1',
  allowed: false,
  status: { code: 503, reason: 'ServiceUnavailable', message: expect.stringContaining('devloop') },
};
const verdict = (response: object) => ({
  status: 200,
  body: { kind: 'AdmissionReview', apiVersion: 'v1', response },
});
const notConverted = {
  status: 200,
  body: {
    kind: 'ConversionReview',
    apiVersion: 'v1',
    response: { uid: '1', convertedObjects: [], result: { status: 'Failure', ...failed.body } },
  },
};

it.each([
  ['fail', 'an admission', review('AdmissionReview'), failed],
  ['allow', 'an admission', review('AdmissionReview'), verdict(allowed)],
  ['deny', 'an admission', review('AdmissionReview'), verdict(denied)],
  ['fail', 'a conversion', review('ConversionReview'), notConverted],
  ['allow', 'a conversion', review('ConversionReview'), notConverted],
  ['deny', 'a conversion', review('ConversionReview'), notConverted],
  ['fail', 'a conversion without a uid', '{"kind":"ConversionReview"}', failed],
  ['allow', 'a request that is no review', '{"request":{"uid":"1"}}', failed],
  ['allow', 'a request that is no JSON', '{', failed],
] as const)(
  '--on-timeout %s answers %s whose time is over, held or not, and it is recorded',
  async (onTimeout, _, body, expected) => {
    const served: ServedReview[] = [];
    const slow = new Controller(() => {});
    await using bench = await setUp(slow, {
      hooks: { onTimeout, served: (one) => void served.push(one) },
    });
    const ask = async (): Promise<object> => {
      const { status, text } = await bench.ask('/validate?timeout=1s', { body });
      return { status, body: JSON.parse(text) };
    };
    bench.gateway.holdForUser();
    expect(await ask()).toMatchObject(expected);
    expect(slow.seen).toEqual([]);
    bench.gateway.releaseForUser();
    expect(await ask()).toMatchObject(expected);
    expect(served.map(({ answer }) => answer?.status)).toEqual([expected.status, expected.status]);
  },
);

it('a review that no controller will answer in time is answered the same way at once, until the session ends', async () => {
  await using bench = await setUp(new Controller(), { hooks: { onTimeout: 'deny' }, start: false });
  bench.gateway.controllerDown('the controller exited', 60_000);
  const ask = () => bench.ask('/validate?timeout=30s', { body: review('AdmissionReview') });
  expect(JSON.parse((await ask()).text)).toMatchObject({ response: denied });
  // The session ends, so devloop decides nothing any more.
  bench.gateway.failFast('the session is ending');
  expect((await ask()).status).toBe(503);
  const { text } = await bench.ask('/convert?timeout=30s', { body: review('ConversionReview') });
  expect(JSON.parse(text)).toMatchObject(notConverted.body);
});

it('says in the error that reviews are held, and how that ends', async () => {
  await using bench = await setUp();
  bench.gateway.holdForUser();
  const { text } = await bench.ask('/validate?timeout=300ms');
  expect(JSON.parse(text).message).toContain('devloop release');
});

it('says in the error where a debugger has stopped the controller', async () => {
  const stopped = new Controller(() => {});
  await using bench = await setUp(stopped, {
    hooks: { stoppedAt: () => 'webhook.go:42 in v1.Default' },
  });
  const { text } = await bench.ask('/validate?timeout=2s');
  expect(JSON.parse(text).message).toMatch(/debugger .*\bwebhook\.go:42 in v1\.Default/);
});

it('the error arrives in the budget also over a long way, by a new connection and by one that is open', async () => {
  await using bench = await setUp();
  await using way = await longWay(bench.gateway.port, 100);
  bench.gateway.holdForUser();
  for (const _ of ['new', 'open']) {
    const { text } = await ask(way.port, '/validate?timeout=3s', {
      agent: bench.agent,
      signal: AbortSignal.timeout(3000),
    });
    expect(JSON.parse(text).message).toContain('devloop release');
  }
});

it("a controller's own error stays what it is", async () => {
  const failing = new Controller((_request, response) => response.writeHead(503).end('mine'));
  await using bench = await setUp(failing, { hooks: { onTimeout: 'allow' } });
  const reply = await bench.ask('/validate', { body: review('AdmissionReview') });
  expect(reply).toMatchObject({ status: 503, text: 'mine' });
});

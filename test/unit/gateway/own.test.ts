import { expect, test } from 'vitest';
import { Controller, setUp } from './support.ts';

const review = (name: string): string =>
  JSON.stringify({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', request: { uid: '1', name } });
const allows = (request: object): boolean => (request as { name?: string }).name === 'ours';

test('reviews that devloop answers itself are answered while all others wait, and without a controller', async () => {
  await using bench = await setUp(new Controller(), { start: false });
  bench.gateway.hold();
  using _ = bench.gateway.answerOwn({ allows, others: 'forward' });
  const answer = await bench.ask('/validate', { body: review('ours') });
  expect(answer.status).toBe(200);
  expect(JSON.parse(answer.text)).toEqual({
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    response: { uid: '1', allowed: true },
  });
  expect((await bench.ask('/validate?timeout=1s', { body: review('theirs') })).status).toBe(503);
});

test('all others are forwarded, or refused at once, and nothing is answered any longer than asked', async () => {
  await using bench = await setUp();
  const forwarding = bench.gateway.answerOwn({ allows, others: 'forward' });
  for (const body of [review('theirs'), '{', 'null', '{"request":{"objects":[]}}'])
    expect((await bench.ask('/validate', { body })).text).toBe('{"answered":true}');
  const refusing = bench.gateway.answerOwn({ allows, others: 'refuse' });
  for (const body of [review('theirs'), '{', 'null', '{"request":{"objects":[]}}'])
    expect((await bench.ask('/validate', { body })).status).toBe(503);
  refusing[Symbol.dispose]();
  expect((await bench.ask('/validate', { body: review('theirs') })).text).toBe('{"answered":true}');
  expect((await bench.ask('/validate', { body: review('ours') })).text).not.toBe('{"answered":true}');
  forwarding[Symbol.dispose]();
  expect((await bench.ask('/validate', { body: review('ours') })).text).toBe('{"answered":true}');
});

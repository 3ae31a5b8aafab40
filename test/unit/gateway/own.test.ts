import { expect, test } from 'vitest';
import type { OwnAnswers, OwnVerdict } from '../../../src/gateway/own.ts';
import { Controller, setUp } from './support.ts';

const review = (name: string): string =>
  JSON.stringify({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', request: { uid: '1', name } });
const VERDICTS: Record<string, OwnVerdict> = { ours: 'allow', stale: 'conflict', unknown: 'unknown' };
const own = (others: OwnAnswers['others']): OwnAnswers => ({
  others,
  isExpecting: () => true,
  async judge(request) {
    const { name = '' } = request as { name?: string };
    if (name === 'garbled') throw new TypeError('not iterable');
    return VERDICTS[name];
  },
});
const FORWARDED = '{"answered":true}';

test('reviews that devloop answers itself are answered while all others wait, and without a controller', async () => {
  await using bench = await setUp(new Controller(), { start: false });
  bench.gateway.hold();
  using _ = bench.gateway.answerOwn(own('forward'));
  const answered = async (name: string) =>
    JSON.parse((await bench.ask('/validate', { body: review(name) })).text);
  expect(await answered('ours')).toEqual({
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    response: { uid: '1', allowed: true },
  });
  expect(await answered('stale')).toMatchObject({
    response: { uid: '1', allowed: false, status: { code: 409, reason: 'Conflict' } },
  });
  for (const name of ['theirs', 'unknown'])
    expect((await bench.ask('/validate?timeout=1s', { body: review(name) })).status).toBe(503);
});

test('all others are forwarded, or refused at once, and nothing is answered any longer than asked', async () => {
  await using bench = await setUp();
  const forwarding = bench.gateway.answerOwn(own('forward'));
  const theirs = [
    review('theirs'),
    review('unknown'),
    review('garbled'),
    '{',
    'null',
    '{"request":{"objects":[]}}',
  ];
  const textOf = async (body: string) => (await bench.ask('/validate', { body })).text;
  for (const body of theirs) expect(await textOf(body)).toBe(FORWARDED);
  const refusing = bench.gateway.answerOwn(own('refuse'));
  for (const body of theirs) expect((await bench.ask('/validate', { body })).status).toBe(503);
  forwarding[Symbol.dispose]();
  expect(await textOf(review('ours'))).not.toBe(FORWARDED);
  refusing[Symbol.dispose]();
  expect(await textOf(review('ours'))).toBe(FORWARDED);
});

test('a verdict that takes too long is no answer, and a review that cannot be ours is not judged', async () => {
  await using bench = await setUp();
  const never: OwnAnswers = { ...own('forward'), judge: () => new Promise(() => {}) };
  using _ = bench.gateway.answerOwn({ ...never, isExpecting: () => false });
  expect((await bench.ask('/validate', { body: review('ours') })).text).toBe(FORWARDED);
  using __ = bench.gateway.answerOwn(never);
  expect((await bench.ask('/validate?timeout=1s', { body: review('ours') })).status).toBe(503);
});

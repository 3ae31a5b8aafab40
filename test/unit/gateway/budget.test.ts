import { expect, test } from 'vitest';
import { budgetOf, parseDuration, patienceFor } from '../../../src/gateway/budget.ts';

test.each([
  ['/validate?timeout=10s', 10_000],
  ['/validate?timeout=1m', 30_000],
  ['/validate?timeout=500ms', 500],
  ['/validate?a=b&timeout=1.5s&c=d', 1500],
  ['/validate?timeout=1m30s', 30_000],
  ['/validate', 10_000],
  ['/validate?timeout=', 10_000],
  ['/validate?timeout=soon', 10_000],
  ['/validate?timeout=-3s', 10_000],
  ['/validate?timeout=0s', 10_000],
  ['/convert', 30_000],
  ['/convert?timeout=3s', 3000],
  ['/%zz?timeout=%zz', 10_000],
  ['', 10_000],
])('the budget of %s is %d ms', (url, ms) => {
  expect(budgetOf(url)).toBe(ms);
});

test.each([
  ['1h2m3s', 3_723_000],
  ['1.5s', 1500],
  ['.5s', 500],
  ['+2s', 2000],
  ['100us', 0.1],
  ['100µs', 0.1],
  ['10', undefined],
  ['s', undefined],
  ['', undefined],
  ['1s ', undefined],
  ['1.s', 1000],
  ['1s'.repeat(16), 16_000],
  ['1s'.repeat(17), undefined],
])('the duration %s is %s ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test('the gateway answers a tenth of the budget earlier, at most half a second', () => {
  expect(patienceFor(10_000)).toBe(9500);
  expect(patienceFor(30_000)).toBe(29_500);
  expect(patienceFor(1000)).toBe(900);
});

test('it answers even earlier where the way is longer than that, but keeps three quarters of the budget', () => {
  expect(patienceFor(10_000, 300)).toBe(9500);
  expect(patienceFor(10_000, 1050)).toBe(8950);
  expect(patienceFor(1000, 1050)).toBe(750);
});

import { describe, expect, it } from 'vitest';
import { matches, parseQuery } from '../../../src/page/query.ts';
import { reviewOf, waitingReview } from '../../support/session-facts.ts';

const denied = reviewOf(1, {
  verdict: 'denied',
  message: 'spec.image: Required value',
  warnings: ['spec.port is deprecated'],
  ms: { held: 0, controller: 700, total: 701, budget: 10_000 },
});

it.each([
  ['', true],
  ['kind:application', true],
  ['kind:App', false],
  ['verdict:denied', true],
  ['verdict:den', true],
  ['verdict:allowed', false],
  ['name:web', true],
  ['namespace:default', true],
  ['namespace:def', false],
  ['user:ann webhook:vapp', true],
  ['user:ann webhook:mapp', false],
  ['slow:701', true],
  ['slow:702ms', false],
  ['slow', false],
  ['required', true],
  ['create web-1', true],
  ['"spec.image: Required"', true],
  ['"image: spec"', false],
  ['deprecated', true],
  ['kind:', true],
  ['constructor:x', false],
  ['r-000001', true],
])('%j selects a denied review: %s', (text, expected) => {
  expect(matches(parseQuery(text), denied)).toBe(expected);
});

it.each([
  ['verdict:waiting', true],
  ['waiting', true],
  ['verdict:denied', false],
])('%j selects a review that waits: %s', (text, expected) => {
  expect(matches(parseQuery(text), waitingReview())).toBe(expected);
});

it.each([
  ['since:2h', true],
  ['since:10m', false],
  ['since:', true],
])('%j selects a review of an hour ago: %s', (text, expected) => {
  const at = new Date(Date.now() - 3_600_000).toISOString();
  expect(matches(parseQuery(text), { ...denied, at })).toBe(expected);
});

describe('a term that means nothing', () => {
  it.each(['verdict:perhaps', 'slow:soon', 'since:soon', 'since:10'])(
    '%s is named, and selects everything',
    (text) => {
      const query = parseQuery(text);
      expect(query.faults).toEqual([expect.stringContaining(text)]);
      expect(matches(query, denied)).toBe(true);
    },
  );
});

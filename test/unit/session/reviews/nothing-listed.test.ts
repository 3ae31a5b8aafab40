import { expect, it } from 'vitest';
import type { ReviewFilter } from '../../../../src/reviews/select.ts';
import { nothingListed } from '../../../../src/session/reviews/nothing-listed.ts';
import { reviewOf, waitingReview } from '../../../support/session-facts.ts';

const REVIEWS = [reviewOf(1), reviewOf(2), waitingReview()];

it.each<[ReviewFilter, string | undefined]>([
  [{ kind: 'aplication' }, 'Application for --kind'],
  [{ namespace: 'defualt' }, 'default for --namespace'],
  [{ webhook: 'vaplication' }, 'vapplication.kb.io for --webhook'],
  [{ name: 'wbe-7' }, 'one of web-7, web-1, web-2 for --name'],
  [{ kind: 'Application', user: 'anm' }, 'ann for --user'],
  [{ kind: 'Pod' }, undefined],
  [{ verdict: 'failed', kind: 'Application' }, undefined],
])('a list that is empty for %j names what may have been meant', (filter, meant) => {
  const message = 'Session x has 3 reviews, and none of them matches.';
  const question = meant === undefined ? '' : ` Did you mean ${meant}?`;
  expect(nothingListed('Session x', filter, REVIEWS)).toBe(`${message}${question}`);
});

it('where there are no reviews, none can have been meant', () => {
  expect(nothingListed('Session x', { kind: 'x' }, [])).toBe('Session x has no reviews yet.');
});

import { expect, it } from 'vitest';
import type { ReviewFilter } from '../../../../src/reviews/select.ts';
import { nothingListed } from '../../../../src/session/reviews/nothing-listed.ts';
import { reviewOf, waitingReview } from '../../../support/session-facts.ts';

const REVIEWS = [reviewOf(1), reviewOf(2), waitingReview()];

it.each<[ReviewFilter, { flag: string; names: string[] }[]]>([
  [{ kind: 'aplication' }, [{ flag: 'kind', names: ['Application'] }]],
  [{ namespace: 'defualt' }, [{ flag: 'namespace', names: ['default'] }]],
  [{ webhook: 'vaplication' }, [{ flag: 'webhook', names: ['vapplication.kb.io'] }]],
  [{ name: 'wbe-7' }, [{ flag: 'name', names: ['web-7', 'web-1', 'web-2'] }]],
  [{ kind: 'Application', user: 'anm' }, [{ flag: 'user', names: ['ann'] }]],
  [{ kind: 'Pod' }, []],
  [{ verdict: 'failed', kind: 'Application' }, []],
])('a list that is empty for %j names what may have been meant', (filter, meant) => {
  expect(nothingListed('Session x', filter, REVIEWS)).toMatchObject({
    code: 'reviews.none',
    values: { source: 'Session x', reviews: 3, meant },
  });
});

it('where there are no reviews, none can have been meant', () => {
  expect(nothingListed('Session x', { kind: 'x' }, [])).toMatchObject({
    code: 'reviews.none',
    values: { reviews: 0, meant: [] },
  });
});

import { expect, it } from 'vitest';
import { LISTED_VERDICTS, type ReviewVerdict } from '../../../src/report/review.ts';
import { selects } from '../../../src/reviews/select.ts';
import { reviewOf, waitingReview } from '../../support/session-facts.ts';
import { runBin } from '../cli/run-bin.ts';

it.each(LISTED_VERDICTS)('%s selects the reviews that a list shows as such', (verdict) => {
  const listed =
    verdict === 'waiting' ? waitingReview() : reviewOf(1, { verdict: verdict satisfies ReviewVerdict });
  const selecting = LISTED_VERDICTS.filter((one) => selects({ verdict: one }, listed));
  expect(selecting).toEqual([verdict]);
});

it('`devloop reviews` takes each of them', () => {
  const { stderr } = runBin(['reviews', '--verdict', 'none']);
  expect(stderr).toContain(` ${LISTED_VERDICTS.join(', ')}.`);
  // No session runs there.
  expect(runBin(['reviews', '--verdict', 'waiting', '--session', 'x']).stderr).toContain('Session x');
});

import { DevloopError } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import type { Checkout } from '../files.ts';
import type { ExportedTest, TestReview } from '../language.ts';
import { goTest } from './review-test.ts';
import { findWebhookSetups } from './webhook-setup.ts';

/** A test in the package of the webhooks. */
export async function exportTest(checkout: Checkout, reviews: TestReview[]): Promise<ExportedTest> {
  const setups = await findWebhookSetups(
    checkout,
    reviews.map(({ path }) => path),
  );
  const [setup, other] = setups;
  if (other !== undefined)
    throw new DevloopError(
      'usage.invalid',
      `The webhooks of these reviews are in several packages: ${setups.map(({ directory }) => directory).join(', ')}.`,
      {
        hint: `Export the reviews of one of them at a time: devloop reviews export ${shellWord(reviews[0]!.id)} -o go`,
      },
    );
  return { text: goTest(reviews, setup!), isIncomplete: setup!.calls.length === 0 };
}

import { Checkout } from '../../checkout/files.ts';
import { LANGUAGES } from '../../languages.ts';
import { plainJson } from '../../phrases.ts';
import type { Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { curlCommand, requireKept } from '../../reviews/export.ts';
import type { ReviewRecord } from '../../reviews/record.ts';
import { testReview } from '../../reviews/test-review.ts';
import type { ReviewsOptions } from '../context/options.ts';

/**
 * The requests as JSON, as one curl command each, or as one test. Warns if secret values are replaced, or if the test has a line to fill
 * in.
 */
export async function exported(
  { format }: Pick<ReviewsOptions, 'format'>,
  records: ReviewRecord[],
  { checkout, moved, emit }: { checkout: string; moved?: ReadonlyMap<number, number>; emit: Emit },
): Promise<string> {
  const kept = records.map(requireKept);
  for (const { id, redacted } of kept)
    if (redacted !== undefined) emit(notice('reviews.redacted', { review: id }));
  if (format === 'curl') return kept.map((one) => curlCommand(one, moved)).join('');
  if (format === 'review') return kept.map(({ request }) => `${plainJson(request)}\n`).join('');
  // The other formats are named after the language of the test.
  const language = LANGUAGES.find(({ name }) => name.toLowerCase() === format);
  const { text, isIncomplete } = await language!.exportTest!(new Checkout(checkout), kept.map(testReview));
  if (isIncomplete) emit(notice('reviews.fill-in', {}));
  return text;
}

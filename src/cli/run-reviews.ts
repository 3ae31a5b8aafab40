import type { ReviewsOptions } from '../session/context/options.ts';
import { reviews } from '../session/reviews.ts';
import type { OutputOptions, Shell } from './shell.ts';

/** What `devloop reviews list` does without flags. */
export const PLAIN_LIST: ReviewsOptions = {
  ...{ action: 'list', ids: [], format: 'review' },
  ...{ follow: false, sideEffects: false, update: false, allow: [], filter: {} },
};

export async function runReviews(
  options: ReviewsOptions,
  output: OutputOptions,
  shell: Shell,
): Promise<void> {
  // A list does not wait, or with --follow waits for as long as the user wants, so its silence is normal.
  const patience = options.action === 'list' ? { isPatient: true as const } : {};
  await shell.run({ ...output, ...patience }, async (io) => {
    const exported = await reviews(options, io);
    if (exported !== '') shell.write(exported);
  });
}

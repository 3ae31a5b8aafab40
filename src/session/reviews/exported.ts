import { DevloopError } from '../../errors.ts';
import { findWebhookSetups } from '../../operator/webhook-setup.ts';
import { shellWord } from '../../phrases.ts';
import type { Emit } from '../../report/events.ts';
import { curlCommand, plainJson, requireKept } from '../../reviews/export.ts';
import { goTest } from '../../reviews/export-go.ts';
import type { ReviewRecord } from '../../reviews/record.ts';
import type { ReviewsOptions } from '../context/options.ts';

/**
 * The requests as JSON, as one curl command each, or as one Go test. Warns if secret values are replaced, or if the test has a line to fill
 * in.
 */
export async function exported(
  { format, ids }: Pick<ReviewsOptions, 'format' | 'ids'>,
  records: ReviewRecord[],
  {
    checkout,
    moved,
    emit,
  }: { checkout: string; moved?: ReadonlyMap<number, number> | undefined; emit: Emit },
): Promise<string> {
  const kept = records.map(requireKept);
  for (const { id, redacted } of kept) {
    const message = `Values that look secret are replaced in review ${id}.`;
    if (redacted !== undefined) emit({ type: 'warning', message });
  }
  if (format === 'curl') return kept.map((one) => curlCommand(one, moved)).join('');
  if (format === 'review') return kept.map(({ request }) => `${plainJson(request)}\n`).join('');
  const setups = await findWebhookSetups(
    checkout,
    kept.map(({ path }) => path),
  );
  const [setup, other] = setups;
  if (other !== undefined)
    throw new DevloopError(
      'usage.invalid',
      `The webhooks of these reviews are in several packages: ${setups.map(({ directory }) => directory).join(', ')}.`,
      {
        hint: `Export the reviews of one of them at a time: devloop reviews export ${shellWord(ids[0])} -o go`,
      },
    );
  if (setup!.calls.length === 0) emit({ type: 'warning', message: FILL_IN });
  return goTest(kept, setup!);
}

const FILL_IN =
  'No function that registers these webhooks was found beside a kubebuilder marker with their path: fill in the line with TODO.';

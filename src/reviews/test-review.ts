import type { TestReview } from '../checkout/language.ts';
import { DevloopError } from '../errors.ts';
import type { KeptRecord } from './export.ts';

/** What a test needs of a recorded review. Throws 'usage.invalid' if there is no verdict. */
export function testReview(record: KeptRecord): TestReview {
  const { id, operation, resource, object, path, request, redacted } = record;
  const name = [id, operation, resource?.kind, object?.namespace, object?.name].filter(Boolean).join(' ');
  return { id, name, path, request, answer: answerOf(record), isRedacted: redacted !== undefined };
}

function answerOf({ id, verdict, response }: KeptRecord): TestReview['answer'] {
  if (verdict !== 'allowed' && verdict !== 'denied')
    throw new DevloopError(
      'usage.invalid',
      `Review ${id} is ${verdict}: a test needs the webhook's verdict on an admission review.`,
      { hint: 'devloop reviews --verdict denied' },
    );
  const answer = (response as { response?: Answer } | undefined)?.response ?? {};
  const { allowed = false, status, warnings = [], patch = [] } = answer;
  // A program that is not written in Go may write `status` as null.
  const { code = 0, reason = '', message = '' } = status ?? {};
  return { allowed, code, reason, message, warnings, patch };
}

interface Answer {
  allowed?: boolean;
  status?: { code?: number; reason?: string; message?: string } | null;
  warnings?: string[];
  patch?: object[];
}

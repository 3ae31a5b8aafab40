import type { LateAnswer, ReviewSummary } from '../report/review.ts';

/**
 * A recording is NDJSON: one `ReviewRecord` or `LateRecord` per line. This version is increased when a field is removed or changes its
 * meaning; readers ignore fields that they do not know.
 */
export const RECORD_VERSION = 1;

/** A line that adds to the line with the same id. */
export interface LateRecord {
  v: typeof RECORD_VERSION;
  id: string;
  late: LateAnswer;
  lateResponse?: unknown;
}

/** One line of a recording: the summary, and the review itself without its secrets. */
export interface ReviewRecord extends ReviewSummary {
  v: typeof RECORD_VERSION;
  /** The AdmissionReview or ConversionReview as it was sent. Absent if it was too large, or not JSON. */
  request?: unknown;
  /** The response as it was answered, but with the patch as a list instead of base64. Absent in the same cases as `request`. */
  response?: unknown;
  /** Bytes of request and response, if they were too large to be kept. */
  size?: { request: number; response: number };
  /** How many values were replaced because they looked secret. */
  redacted?: number;
  /** What the controller answered later, in the form of `response`. */
  lateResponse?: unknown;
}

/** The summary in a record. */
export function summaryOf(record: ReviewRecord): ReviewSummary {
  const { v, request, response, size, redacted, lateResponse, ...summary } = record;
  return summary;
}

/** The same review with the answer from `after`, which another build gave. */
export function withAnswerOf(before: ReviewRecord, after: ReviewRecord, build?: string): ReviewRecord {
  const { code, message, warnings, patch, changes, response, late, lateResponse, ...recorded } = before;
  const { build: _, isOldBuild, ...asked } = recorded;
  const answer = { code: after.code, message: after.message, warnings: after.warnings, patch: after.patch };
  const given = Object.entries({ ...answer, changes: after.changes, response: after.response, build });
  return {
    ...asked,
    verdict: after.verdict,
    ...Object.fromEntries(given.filter(([, value]) => value !== undefined)),
  };
}

/** The warnings of an answer as texts, whatever the webhook's author wrote: some objects in JSON cannot be converted to a string. */
export function warningTexts(warnings: unknown): string[] {
  if (!Array.isArray(warnings)) return [];
  return warnings.map((one: unknown) => (typeof one === 'object' ? '<not text>' : String(one)));
}

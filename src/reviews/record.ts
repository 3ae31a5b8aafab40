import type { ReviewSummary } from '../report/events.ts';

/** A recording is NDJSON: one `ReviewRecord` a line. Raised when a field is removed or changes its meaning; readers ignore fields they do not know. */
export const RECORD_VERSION = 1;

/** One line of a recording: the summary, and the review itself without its secrets. */
export interface ReviewRecord extends ReviewSummary {
  v: typeof RECORD_VERSION;
  /** The AdmissionReview or ConversionReview as it was sent. Absent if it was too large, or not JSON. */
  request?: unknown;
  /** As it was answered, but a patch is a list here and not base64. Absent as above. */
  response?: unknown;
  /** Bytes of request and response, where they were too large to be kept. */
  size?: { request: number; response: number };
  /** How many values were replaced because they looked secret. */
  redacted?: number;
}

/** The summary alone. */
export function summaryOf(record: ReviewRecord): ReviewSummary {
  const { v: _, request: __, response: ___, size: ____, redacted: _____, ...summary } = record;
  return summary;
}

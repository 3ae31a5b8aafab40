const DEFAULT_BUDGET_MS = 10_000;
const CONVERSION_BUDGET_MS = 30_000;
export const LONGEST_BUDGET_MS = 30_000;
const LEAST_MARGIN_MS = 500;

const UNIT_MS: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
/** The longest text that is parsed: strangers can send longer ones. */
const LONGEST_DURATION = 32;
const DURATION = /^\+?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/;
const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g;

/** A timeout as kube-apiserver writes it. */
const WHOLE_SECONDS = /^[^?]*\?timeout=([1-9]\d?)s$/;

/** How long the caller waits for the answer to a review, in ms: the `timeout` in its URL, otherwise the Kubernetes default. */
export function budgetOf(url: string): number {
  const seconds = WHOLE_SECONDS.exec(url)?.[1];
  if (seconds !== undefined) return Math.min(Number(seconds) * 1000, LONGEST_BUDGET_MS);
  const [path = '', query = ''] = url.split('?', 2);
  const asked = parseDuration(new URLSearchParams(query).get('timeout') ?? '');
  if (asked !== undefined && asked > 0) return Math.min(asked, LONGEST_BUDGET_MS);
  return path === '/convert' ? CONVERSION_BUDGET_MS : DEFAULT_BUDGET_MS;
}

/**
 * How long the gateway can take to answer, in ms. It is less than the budget: the caller's clock started earlier, when it dialled, and the
 * caller still has to read the answer. `travelMs`: how long the dialling and the return of the answer take, if that is known.
 */
export function patienceFor(budgetMs: number, travelMs = 0): number {
  const margin = Math.max(Math.min(LEAST_MARGIN_MS, budgetMs / 10), travelMs);
  // The margin is limited, because a handshake can also be slow when this machine is busy.
  return budgetMs - Math.min(margin, budgetMs / 4);
}

/** Parses a duration in Go syntax (`1m30s`, `500ms`) of at most 32 characters; the result is in ms. */
export function parseDuration(text: string): number | undefined {
  if (text.length > LONGEST_DURATION || !DURATION.test(text)) return undefined;
  return [...text.matchAll(PART)].reduce(
    (sum, [, number, unit]) => sum + Number(number) * (UNIT_MS[unit ?? ''] ?? 0),
    0,
  );
}

const DEFAULT_MS = 10_000;
const CONVERSION_MS = 30_000;
export const LONGEST_MS = 30_000;
const LARGEST_MARGIN_MS = 500;

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
const DURATION = /^\+?(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/;
const PART = /(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g;

/** How long the caller of a review waits for its answer, in milliseconds: what its URL says, or what Kubernetes does without. */
export function budgetOf(url: string): number {
  const [path = '', query = ''] = url.split('?', 2);
  const asked = parseDuration(new URLSearchParams(query).get('timeout') ?? '');
  if (asked !== undefined && asked > 0) return Math.min(asked, LONGEST_MS);
  return path === '/convert' ? CONVERSION_MS : DEFAULT_MS;
}

/** When to answer at the latest. The caller's clock began before ours, at its dial, and it has to read the answer yet. */
export function patienceFor(budgetMs: number): number {
  return budgetMs - Math.min(LARGEST_MARGIN_MS, budgetMs / 10);
}

/** A duration as Go writes it (`1m30s`, `500ms`), in milliseconds. */
export function parseDuration(text: string): number | undefined {
  if (!DURATION.test(text)) return undefined;
  return [...text.matchAll(PART)].reduce(
    (sum, [, number, unit]) => sum + Number(number) * (UNIT_MS[unit ?? ''] ?? 0),
    0,
  );
}

const DEFAULT_BUDGET_MS = 10_000;
const CONVERSION_BUDGET_MS = 30_000;
export const LONGEST_BUDGET_MS = 30_000;
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
/** Anybody can send a longer one. */
const LONGEST_DURATION = 32;
const DURATION = /^\+?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/;
const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g;

/** How long the caller waits for the answer to a review, in ms: the `timeout` in its URL, otherwise the Kubernetes default. */
export function budgetOf(url: string): number {
  const [path = '', query = ''] = url.split('?', 2);
  const asked = parseDuration(new URLSearchParams(query).get('timeout') ?? '');
  if (asked !== undefined && asked > 0) return Math.min(asked, LONGEST_BUDGET_MS);
  return path === '/convert' ? CONVERSION_BUDGET_MS : DEFAULT_BUDGET_MS;
}

/**
 * How long the gateway may take to answer, in ms. It is less than the budget: the caller's clock started earlier, when it
 * dialled, and the caller still has to read the answer.
 */
export function patienceFor(budgetMs: number): number {
  return budgetMs - Math.min(LARGEST_MARGIN_MS, budgetMs / 10);
}

/** Parses a duration in Go syntax (`1m30s`, `500ms`) of at most 32 characters; the result is in ms. */
export function parseDuration(text: string): number | undefined {
  if (text.length > LONGEST_DURATION || !DURATION.test(text)) return undefined;
  return [...text.matchAll(PART)].reduce(
    (sum, [, number, unit]) => sum + Number(number) * (UNIT_MS[unit ?? ''] ?? 0),
    0,
  );
}

/** What one review is waiting for, and the signal that ends the wait: budget used, client gone, or gateway closed. */
export interface Waiting {
  for: 'body' | 'release' | 'connection' | 'answer';
  readonly signal: AbortSignal;
  /** Why no controller will accept a connection within the budget; undefined while one still might. */
  reasonToFail(): string | undefined;
}

/** Lets reviews through, or makes them wait in the order in which they arrived. */
export interface Gate {
  hold(): void;
  release(): void;
  /** No controller will answer for the next `ms`. Lasts until the next `hold`. */
  failFast(why: string, ms: number): void;
  /** The `why` of `failFast`, if that period lasts beyond `deadline` (on the clock of `performance.now()`). */
  reasonToFail(deadline: number): string | undefined;
  /** Number of reviews that are waiting. */
  readonly held: number;
  /** Resolves when the gate is open; rejects with the signal's reason. */
  pass(signal: AbortSignal): Promise<void>;
}

export function createGate(): Gate {
  const waiting = new Set<() => void>();
  let closed = false;
  let failing: { why: string; until: number } | undefined;
  return {
    hold() {
      closed = true;
      failing = undefined;
    },
    failFast(why, ms) {
      failing = { why, until: performance.now() + ms };
    },
    reasonToFail: (deadline) => (failing !== undefined && failing.until > deadline ? failing.why : undefined),
    release() {
      closed = false;
      for (const go of waiting) go();
      waiting.clear();
    },
    get held() {
      return waiting.size;
    },
    async pass(signal) {
      signal.throwIfAborted();
      if (closed) await wait(waiting, signal);
    },
  };
}

function wait(waiting: Set<() => void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const go = () => {
      signal.removeEventListener('abort', leave);
      resolve();
    };
    const leave = () => {
      waiting.delete(go);
      reject(signal.reason);
    };
    waiting.add(go);
    signal.addEventListener('abort', leave, { once: true });
  });
}

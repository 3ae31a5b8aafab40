import type { Answer } from './http.ts';

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

/** What one review is waiting for, and the signal that ends the wait: budget used, client gone, or gateway closed. */
export interface Waiting {
  for: 'body' | 'release' | 'connection' | 'answer';
  readonly signal: AbortSignal;
  /** Resolves to undefined when the review can be sent, or to the answer that it gets instead. Rejects with the signal's reason. */
  pass(): Promise<Answer | undefined>;
  /**
   * Receives the controller's answer to a review whose wait is over. If absent, the request to the controller is cancelled when the wait is
   * over, since nobody would use the answer.
   */
  onLate?: ((answer: Answer) => void) | undefined;
  /** Why a review that nothing accepts is not sent again; undefined as long as it is sent again. */
  lastTry(): string | undefined;
}

/** Lets reviews through, or makes them wait in the order in which they arrived. */
export interface Gate {
  /** `onHalfWaited` is called for each review that has waited for half of the time that it had left. */
  hold(onHalfWaited?: () => void): void;
  release(): void;
  /**
   * Called when no controller runs. No review is sent then, because another program could listen on the controller's port. The next
   * controller starts in `ms`: reviews wait for it, but those whose budget ends earlier are refused at once. Lasts until the next `hold`.
   */
  controllerDown(why: string, ms: number): void;
  /**
   * Called when no controller will be started again. One may still be running, so reviews are sent, but they are refused at once if nothing
   * accepts them. This is final.
   */
  failFast(why: string): void;
  readonly lastTry: string | undefined;
  /** Makes reviews wait because the user wants it, whatever else holds or releases them, and whether or not a controller runs. */
  holdForUser(): void;
  releaseForUser(): void;
  readonly isHeldForUser: boolean;
  /** The number of reviews that are waiting. */
  readonly held: number;
  /**
   * Like `Waiting.pass`, but resolves to the reason for a refusal. `deadline`: the end of the review's budget on the clock of
   * `performance.now()`.
   */
  pass(deadline: number, signal: AbortSignal): Promise<string | undefined>;
}

interface Waiter {
  deadline: number;
  go(refusal: string | undefined): void;
}

export function createGate(): Gate {
  const waiting = new Set<Waiter>();
  let isHeld = false;
  let isHeldForUser = false;
  let down: { why: string; until: number } | undefined;
  let lastTry: string | undefined;
  let halfWaited: (() => void) | undefined;
  /** `wait`, or the value to which `pass` resolves. */
  const decide = (deadline: number): 'wait' | { refusal: string | undefined } => {
    if (isHeld || isHeldForUser) return 'wait';
    if (down === undefined) return { refusal: undefined };
    return down.until > deadline ? { refusal: down.why } : 'wait';
  };
  const decideAll = (): void => {
    for (const waiter of waiting) {
      const decision = decide(waiter.deadline);
      if (decision === 'wait') continue;
      waiting.delete(waiter);
      waiter.go(decision.refusal);
    }
  };
  return {
    hold(onHalfWaited) {
      isHeld = true;
      down = undefined;
      halfWaited = onHalfWaited;
    },
    release() {
      isHeld = false;
      halfWaited = undefined;
      decideAll();
    },
    holdForUser() {
      isHeldForUser = true;
    },
    releaseForUser() {
      isHeldForUser = false;
      decideAll();
    },
    get isHeldForUser() {
      return isHeldForUser;
    },
    controllerDown(why, ms) {
      down = { why, until: performance.now() + ms };
      decideAll();
    },
    failFast(why) {
      lastTry = why;
    },
    get lastTry() {
      return lastTry;
    },
    get held() {
      return waiting.size;
    },
    async pass(deadline, signal) {
      signal.throwIfAborted();
      const decision = decide(deadline);
      if (decision !== 'wait') return decision.refusal;
      const timer = setTimeout(() => halfWaited?.(), (deadline - performance.now()) / 2);
      return await wait(waiting, deadline, signal).finally(() => clearTimeout(timer));
    },
  };
}

function wait(waiting: Set<Waiter>, deadline: number, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const waiter: Waiter = {
      deadline,
      go(refusal) {
        signal.removeEventListener('abort', leave);
        resolve(refusal);
      },
    };
    const leave = () => {
      waiting.delete(waiter);
      reject(signal.reason);
    };
    waiting.add(waiter);
    signal.addEventListener('abort', leave, { once: true });
  });
}

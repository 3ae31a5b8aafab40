import type { Answer } from './http.ts';

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
  /**
   * Makes reviews wait, within their budget, until `release` is called. One `release` ends any number of calls. `onHalfWaited` is called
   * for each review that has waited for half of the time that it had left.
   */
  hold(onHalfWaited?: () => void): void;
  /** Lets the waiting reviews through, in order. */
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

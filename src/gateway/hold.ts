/** Lets reviews through, or makes them wait in the order in which they came. */
export interface Gate {
  hold(): void;
  release(): void;
  /** Nobody answers for the next `ms`. Ends with the next `hold`. */
  failFast(why: string, ms: number): void;
  /** Why nobody will answer before `deadline` (in the clock of `performance.now()`); undefined where somebody may. */
  hopeless(deadline: number): string | undefined;
  readonly held: number;
  /** Resolves when the gate is open; rejects with the signal's reason. */
  pass(signal: AbortSignal): Promise<void>;
}

export function createGate(): Gate {
  const waiting = new Set<() => void>();
  let closed = false;
  let notice: { why: string; until: number } | undefined;
  return {
    hold() {
      closed = true;
      notice = undefined;
    },
    failFast(why, ms) {
      notice = { why, until: performance.now() + ms };
    },
    hopeless: (deadline) => (notice !== undefined && notice.until > deadline ? notice.why : undefined),
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

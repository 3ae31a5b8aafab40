import { startElapsed } from '../../machine/elapsed.ts';

export interface IssuedToken {
  token: string;
  lifeSeconds: number;
}

/** The tokens of one ServiceAccount. */
export interface Tokens {
  /** Rejects only if there has never been one: a token that cannot be renewed is refused by the API server, which says why. */
  current(): Promise<string>;
  /** The API server refused this one. Resolves when there is a newer one, or none to be had. */
  rejected(token: string): Promise<void>;
}

interface Held extends IssuedToken {
  age(): number;
}

const RENEWED_AT = 0.8;
/** If the renewed token is refused, too, or there was none, the next one would not help either. */
const PAUSE_MS = 10_000;

/**
 * Renews the token at 80 % of its life while calls still use it, and after the API server has refused it. `onFailure` gets each failed renewal.
 */
export function createTokens(
  issue: () => Promise<IssuedToken>,
  onFailure: (error: unknown) => void,
  startClock = startElapsed,
): Tokens {
  let held: Held | undefined;
  let sinceRenewal: (() => number) | undefined;
  let renewing: Promise<Held> | undefined;
  const renewOnce = async (): Promise<Held> => {
    // The clock starts before the request, so that the token is never older than it seems.
    const age = startClock();
    held = { ...(await issue()), age };
    return held;
  };
  const renew = (): Promise<Held> => {
    renewing ??= renewOnce().finally(() => {
      renewing = undefined;
    });
    return renewing;
  };
  const renewAgain = async (): Promise<void> => {
    if (renewing === undefined) {
      if (sinceRenewal !== undefined && sinceRenewal() < PAUSE_MS) return;
      sinceRenewal = startClock();
    }
    await renew().then(() => {}, onFailure);
  };
  return {
    async current() {
      held ??= await renew();
      const used = held.age() / (held.lifeSeconds * 1000);
      const renewed = used < RENEWED_AT ? undefined : renewAgain();
      if (used >= 1) await renewed;
      return held.token;
    },
    async rejected(token) {
      if (held?.token === token) await renewAgain();
    },
  };
}

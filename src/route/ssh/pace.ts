/** How hard to try again after a drop. Pure. */

const FIRST_MS = 100;
const LONGEST_MS = 10_000;

/**
 * Milliseconds from the start of one try to the start of the next. It doubles with each, but
 * grows no faster than a fifteenth of the outage: who opens a laptop after a minute shall not wait for a pause of ten seconds.
 * @param tries how many have failed since the drop, at least 1
 * @param random 0 to 1: spreads the tries of many sessions over the same host
 */
export function pauseMs(tries: number, lostForMs: number, random: number): number {
  const doubled = FIRST_MS * 2 ** Math.min(tries - 1, 20);
  const bounded = Math.min(doubled, Math.max(1_000, lostForMs / 15), LONGEST_MS);
  return bounded * (0.75 + random / 4);
}

/** For what only a person can hint: a changed host key, keys that are refused. */
export const HOPELESS_PAUSE_MS = 30_000;

/** How long a TCP connection may take. Short at first, since a lost SYN is sent again only after 1, 3 and 7 seconds. */
export function connectLimitMs(lostForMs: number): number {
  return Math.min(Math.max(1_200, lostForMs / 8), LONGEST_MS);
}

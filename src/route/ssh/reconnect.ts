import { setTimeout as sleep } from 'node:timers/promises';
import { DevloopError, messageOf } from '../../errors.ts';
import type { Emit } from '../../report/events.ts';
import type { Link } from './link.ts';

/** A link, with the host's port for each gateway port. */
export interface Tunnel {
  link: Link;
  ports: Map<number, number>;
}

export interface Reconnection {
  /** Opens a new link with new ports. `connectMs` bounds its TCP connection. */
  reopen(connectMs: number): Promise<Tunnel>;
  current(): Tunnel;
  replace(next: Tunnel): void;
  via: string;
  emit: Emit;
  /** Stops reconnecting when it aborts. */
  signal: AbortSignal;
}

/** Replaces the tunnel after each drop. Resolves when the signal aborts, and does not reject when a host fails. */
export async function keepConnected(reconnection: Reconnection): Promise<void> {
  const { current, replace, via, emit, signal } = reconnection;
  const aborted = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  for (;;) {
    const cause = await Promise.race([current().link.lost, aborted]);
    if (cause === undefined || signal.aborted) return;
    const lostAt = performance.now();
    emit({ type: 'route.lost', route: 'ssh', cause });
    await current().link[Symbol.asyncDispose]();
    const next = await reconnect(reconnection, lostAt);
    if (next === undefined) return;
    replace(next);
    emit({ type: 'route.reconnected', route: 'ssh', via, ms: Math.round(performance.now() - lostAt) });
  }
}

/** Opens a new tunnel; undefined if the signal aborted. Reports each cause that differs from the one before. */
async function reconnect(
  { reopen, emit, signal }: Reconnection,
  lostAt: number,
): Promise<Tunnel | undefined> {
  let reported = '';
  for (let attempt = 1; !signal.aborted; attempt++) {
    const started = performance.now();
    const result = await reopen(connectLimitMs(started - lostAt)).catch((error: unknown) => ({ error }));
    if (!('error' in result)) return result;
    if (signal.aborted) break;
    const cause = causeOf(result.error);
    if (cause !== reported) emit({ type: 'route.lost', route: 'ssh', cause });
    reported = cause;
    const now = performance.now();
    const delay = needsPerson(result.error)
      ? NEEDS_PERSON_DELAY_MS
      : retryDelayMs(attempt, now - lostAt, Math.random());
    await sleep(Math.max(0, delay - (now - started)), undefined, { signal }).catch(() => undefined);
  }
  return undefined;
}

function causeOf(error: unknown): string {
  if (!(error instanceof DevloopError)) return messageOf(error);
  // The host most likely still holds a port that this session had before, for the broken connection.
  if (error.code === 'ssh.forwarding')
    return `${error.message} The host may still hold it for the broken connection; waiting until it is free.`;
  return error.message;
}

/** Waiting does not help against a changed host key or refused keys. */
function needsPerson(error: unknown): boolean {
  return error instanceof DevloopError && (error.code === 'ssh.auth' || error.code === 'ssh.host-key');
}

const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 10_000;
const NEEDS_PERSON_DELAY_MS = 30_000;

/**
 * Milliseconds from the start of one attempt to the start of the next. The delay doubles with each attempt, up to a fifteenth of
 * the outage: somebody who opens a laptop after a minute should not wait ten seconds.
 * @param attempt the number of failed attempts since the drop, at least 1
 * @param random 0 to 1: spreads the attempts of many sessions on the same host
 */
export function retryDelayMs(attempt: number, lostForMs: number, random: number): number {
  const doubled = FIRST_DELAY_MS * 2 ** Math.min(attempt - 1, 20);
  const bounded = Math.min(doubled, Math.max(1_000, lostForMs / 15), LONGEST_DELAY_MS);
  return bounded * (0.75 + random / 4);
}

/**
 * How long a TCP connection is allowed to take, as a whole number, which timeouts need. It is short at first, because a lost SYN is sent
 * again only after 1, 3 and 7 seconds.
 */
export function connectLimitMs(lostForMs: number): number {
  return Math.round(Math.min(Math.max(1_200, lostForMs / 8), LONGEST_DELAY_MS));
}

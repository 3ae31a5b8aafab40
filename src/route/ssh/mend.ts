import { setTimeout as sleep } from 'node:timers/promises';
import { DevloopError, messageOf } from '../../errors.ts';
import type { Emit } from '../../report/events.ts';
import type { Link } from './link.ts';
import { connectLimitMs, HOPELESS_PAUSE_MS, pauseMs } from './pace.ts';

/** A link, with the host's port for each gateway port. */
export interface Standing {
  link: Link;
  ports: Map<number, number>;
}

export interface Mending {
  /** Opens a new link with new ports. `connectMs` bounds its TCP connection. */
  reopen(connectMs: number): Promise<Standing>;
  current(): Standing;
  replace(next: Standing): void;
  via: string;
  emit: Emit;
  /** Ends the mending; the returned promise then resolves. */
  signal: AbortSignal;
}

/** Waits for drops and mends them, for as long as the signal lives. Never rejects for what a host does. */
export async function mend(mending: Mending): Promise<void> {
  const { current, replace, via, emit, signal } = mending;
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
    const next = await reopened(mending, lostAt);
    if (next === undefined) return;
    replace(next);
    emit({ type: 'route.reconnected', route: 'ssh', via, ms: Math.round(performance.now() - lostAt) });
  }
}

/** Undefined when the signal ended the tries. Each new cause is told once. */
async function reopened({ reopen, emit, signal }: Mending, lostAt: number): Promise<Standing | undefined> {
  let told = '';
  for (let tries = 1; !signal.aborted; tries++) {
    const started = performance.now();
    const result = await reopen(connectLimitMs(started - lostAt)).catch((error: unknown) => ({ error }));
    if (!('error' in result)) return result;
    if (signal.aborted) break;
    const cause = causeOf(result.error);
    if (cause !== told) emit({ type: 'route.lost', route: 'ssh', cause });
    told = cause;
    const now = performance.now();
    const pause = isHopeless(result.error) ? HOPELESS_PAUSE_MS : pauseMs(tries, now - lostAt, Math.random());
    await sleep(Math.max(0, pause - (now - started)), undefined, { signal }).catch(() => undefined);
  }
  return undefined;
}

function causeOf(error: unknown): string {
  if (!(error instanceof DevloopError)) return messageOf(error);
  // The ended connection of ours is the likeliest holder of a port that we had before.
  if (error.code === 'ssh.forwarding')
    return `${error.message} The host may still hold it for the broken connection; waiting until it is free.`;
  return error.message;
}

/** Nothing that time mends. */
function isHopeless(error: unknown): boolean {
  return error instanceof DevloopError && (error.code === 'ssh.auth' || error.code === 'ssh.host-key');
}

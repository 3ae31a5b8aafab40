import type { Emit } from './report/events.ts';

const EVERY_MS = 1_000;

/** Tells each second what is waited for, until that has come to an end, or ought to have. */
export async function tellingWait<T>(
  work: Promise<T>,
  what: { for: string; limitSeconds: number },
  emit: Emit,
): Promise<T> {
  const started = Date.now();
  const timer = setInterval(() => {
    const seconds = Math.round((Date.now() - started) / 1000);
    if (seconds <= what.limitSeconds) emit({ type: 'waiting', ...what, seconds });
  }, EVERY_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

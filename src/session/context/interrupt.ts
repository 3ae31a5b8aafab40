import { DevloopError } from '../../errors.ts';

/**
 * Returns the result of work that changes nothing. When the signal aborts, this rejects with 'interrupted' without waiting for the work.
 */
export async function unlessInterrupted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  outcome = 'Nothing was changed.',
): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const leave = (): void => reject(new DevloopError('interrupted', `Interrupted. ${outcome}`));
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave, { once: true });
  // Nothing awaits the promise that settles later, so its failure must not count as unhandled.
  for (const one of [work, promise]) one.catch(() => {});
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}

import { DevloopError } from '../../errors.ts';

/** The result of work that changes nothing, and so is given up at once when the signal aborts: rejects with 'interrupted' then. */
export async function unlessInterrupted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const leave = (): void => reject(new DevloopError('interrupted', 'Interrupted. Nothing was changed.'));
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave, { once: true });
  // Whichever is later has nobody who waits for it.
  for (const one of [work, promise]) one.catch(() => {});
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}

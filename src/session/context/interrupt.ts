import { DevloopError } from '../../errors.ts';

/** The result of work that changes nothing, so it is given up as soon as the signal aborts: then this rejects with 'interrupted'. */
export async function unlessInterrupted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const leave = (): void => reject(new DevloopError('interrupted', 'Interrupted. Nothing was changed.'));
  if (signal.aborted) leave();
  signal.addEventListener('abort', leave, { once: true });
  // Nothing awaits the promise that settles later.
  for (const one of [work, promise]) one.catch(() => {});
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}

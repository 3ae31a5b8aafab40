/** Hands over the newest value only: what comes while the reader is busy replaces what came before it. */
export interface Newest<T> {
  put(value: T): void;
  /** The newest value that was not taken yet, without waiting. */
  take(): { value: T } | undefined;
  /** The same, waiting for one; undefined once the signal has aborted. */
  next(signal: AbortSignal): Promise<{ value: T } | undefined>;
}

export function newest<T>(): Newest<T> {
  let waiting: { value: T } | undefined;
  let wake = (): void => {};
  const take = (): { value: T } | undefined => {
    const taken = waiting;
    waiting = undefined;
    return taken;
  };
  return {
    take,
    put(value) {
      waiting = { value };
      wake();
    },
    async next(signal) {
      while (waiting === undefined && !signal.aborted) {
        await new Promise<void>((resolve) => {
          wake = () => {
            signal.removeEventListener('abort', wake);
            resolve();
          };
          signal.addEventListener('abort', wake, { once: true });
        });
      }
      return signal.aborted ? undefined : take();
    },
  };
}

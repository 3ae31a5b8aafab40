import { sleep } from '../../async.ts';
import type { Service } from '../../cluster/api/objects.ts';
import { removeLateSlices } from '../../cluster/takeover/slices.ts';
import type { Work } from '../../cluster/work.ts';
import { DevloopError } from '../../errors.ts';

const FIRST_PAUSE_MS = 1_000;
/** With all shorter pauses, this makes a minute: after a restart of kube-apiserver, a controller can take half of that to connect again. */
const LAST_PAUSE_MS = 32_000;

/**
 * Once the Service has no selector any more, deletes the slices that a controller still creates because it has not seen that change yet.
 * They would send reviews to the Pods of the paused manager. Looks every second until reviews reach this machine, and then less and less
 * often, for a minute. Ends earlier when it is disposed.
 */
export function clearLateSlices(
  work: Work,
  service: Service,
  { pointed, isReached }: { pointed: Promise<unknown>; isReached(): boolean },
): AsyncDisposable {
  const ending = new AbortController();
  const signal = AbortSignal.any([work.signal, ending.signal]);
  const run = async (): Promise<void> => {
    await pointed;
    for (let pauseMs = FIRST_PAUSE_MS; pauseMs <= LAST_PAUSE_MS; pauseMs *= isReached() ? 2 : 1) {
      if (!(await sleep(pauseMs, signal))) return;
      const failure = await removeLateSlices({ ...work, signal }, service).catch((error: unknown) => error);
      // Any other failure is that of a call, and the next one may succeed.
      if (!(failure instanceof DevloopError) || failure.code !== 'change.conflict') continue;
      const { message, hint } = failure;
      return work.emit({ type: 'warning', message, ...(hint === undefined ? {} : { hint }) });
    }
  };
  // If the Service cannot be pointed here, the caller reports that.
  const running = run().catch(() => {});
  return {
    async [Symbol.asyncDispose]() {
      ending.abort();
      await running;
    },
  };
}

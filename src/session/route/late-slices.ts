import { sleep } from '../../async.ts';
import type { Service } from '../../cluster/api/objects.ts';
import { removeLateSlices } from '../../cluster/takeover/slices.ts';
import type { Work } from '../../cluster/work.ts';
import { DevloopError } from '../../errors.ts';

/** After a restart of kube-apiserver, Kubernetes' controllers can take half a minute to connect again. */
const BEHIND_MS = 60_000;
const PAUSE_MS = { first: 500, factor: 1.5, most: 5_000 };

/**
 * Once the Service has no selector any more, deletes the slices that a controller still creates because it has not seen that change yet.
 * They would send reviews to the Pods of the paused manager. Ends after a minute, or when it is disposed.
 */
export function clearLateSlices(work: Work, service: Service, pointed: Promise<unknown>): AsyncDisposable {
  const ending = new AbortController();
  const signal = AbortSignal.any([work.signal, ending.signal]);
  const run = async (): Promise<void> => {
    await pointed;
    const until = performance.now() + BEHIND_MS;
    let pauseMs = PAUSE_MS.first;
    while (performance.now() < until && (await sleep(pauseMs, signal))) {
      pauseMs = Math.min(pauseMs * PAUSE_MS.factor, PAUSE_MS.most);
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

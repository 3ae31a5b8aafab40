import { sleep } from '../../async.ts';
import type { EndpointSlice, Service } from '../../cluster/api/objects.ts';
import { controllerSlices, emptyLateSlices, isLateSlice, sliceLabel } from '../../cluster/takeover/slices.ts';
import { SETTLE_MS } from './endpoints.ts';
import type { GuardedScope } from './guard.ts';
import { forgetOld, noRounds } from './rounds.ts';

/**
 * The slices of a Service without a selector, for the guard to watch. After the API server was away, a controller may fill its slices long
 * after the cut-over, because it has not seen yet that the selector is gone. Somebody can also fill a hand-made one again.
 */
export function watchedSlices(service: Service): GuardedScope {
  const { namespace, name } = service.metadata;
  const rounds = noRounds();
  return {
    ref: controllerSlices(service),
    scope: {
      kind: 'EndpointSlice',
      labelSelector: sliceLabel(name),
      ...(namespace === undefined ? {} : { namespace }),
    },
    rounds,
    async react(work, slices) {
      // During the cut-over, the step that points the Service here empties them itself.
      const isLate = (slices as EndpointSlice[]).some((slice) => isLateSlice(service, slice));
      if (!isLate || !(await sleep(SETTLE_MS, work.signal))) return undefined;
      forgetOld(rounds);
      if (await emptyLateSlices(work, service)) rounds.writes.push(performance.now());
      return undefined;
    },
  };
}

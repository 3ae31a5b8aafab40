import type { ReviewHooks } from '../gateway/hooks.ts';
import { stampOf } from '../reviews/answering-build.ts';
import { faultOfReview } from './faults/review-fault.ts';
import { type RouteWork, routeSettings } from './route/routing.ts';
import type { RunningSession } from './running.ts';

/** What a route and its gateways need of a session. */
export function routeWorkOf(session: RunningSession): RouteWork {
  const { work, answered, calls, context, target, options, moved, io } = session;
  const { recorder, answering } = answered;
  const settings = routeSettings(context.settings, options);
  const stamps = (review: Buffer): string[] => [
    ...(options.stamp ? stampOf(answering.now()) : []),
    ...calls.marks(review),
  ];
  const onTimeout = context.settings.onTimeout.value;
  // While the controller is debugged, its answer can still be recorded after devloop has answered in its place.
  const late = options.debug ? recorder.late : undefined;
  const { arrived, served } = recorder;
  const stoppedAt = (): string | undefined => session.standing.debug?.stoppedAt;
  const fault = faultOfReview(session.faults.injector);
  const hooks: ReviewHooks = { arrived, served, late, fault, stamps, onTimeout, stoppedAt };
  const removing = (removed: Promise<void>): void => {
    // Objects that cannot be removed now are found by their label at the end of the session.
    const settled = removed.catch(() => {});
    session.writers.defer(() => settled);
  };
  return { ...work, target, settings, env: io.env, ask: io.ask, hooks, moved, removing };
}

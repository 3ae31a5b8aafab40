import type { DevloopEvent } from '../report/events.ts';

/** What an event says about how a session does, once it is ready, in the words that `status` shows; undefined when it says nothing. Pure. */
export function healthAfter(event: DevloopEvent): string | undefined {
  switch (event.type) {
    case 'build.done':
    case 'controller.ready':
    case 'controller.replaced':
    case 'session.ready':
    case 'route.proven':
      return 'serving';
    case 'route.mended':
      return `the ${event.route} route is back, but not proven yet`;
    case 'route.lost':
      return `the ${event.route} route is lost (${event.cause.replace(/\.$/, '')}) and is being mended`;
    case 'build.failed':
      return 'serving the last program that was built; the newest source does not build';
    case 'controller.exited':
      return event.expected
        ? undefined
        : `the controller ended (${event.signal ?? `exit code ${event.code}`}); reviews fail until it serves again`;
    case 'session.stopping':
      return 'putting everything back';
    default:
      return undefined;
  }
}

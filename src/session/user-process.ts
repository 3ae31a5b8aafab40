import type { DevloopEvent, Emit } from '../report/events.ts';

/**
 * Warns of each path on which the process that the user has started answers 404, once until it answers something else there. It is not
 * asked, as a controller of devloop's own is: a server that expects nothing but reviews may end at another request, and at a breakpoint in its
 * handler a debugger would stop.
 */
export function noticeUnserved(emit: Emit): { observe(event: DevloopEvent): void } {
  const unserved = new Set<string>();
  return {
    observe(event) {
      if (event.type !== 'review' || event.verdict === 'answered-by-devloop') return;
      const { path } = event;
      if (event.code !== 404 || event.verdict !== 'failed') return void unserved.delete(path);
      if (unserved.has(path)) return;
      unserved.add(path);
      const message = `Your process answers 404 on ${path}, so the reviews of this webhook fail.`;
      emit({ type: 'warning', message, hint: MEND });
    },
  };
}

const MEND =
  'If your code does not serve this path yet, add that and start it again. Check the arguments and variables that switch webhooks on.';

import type { DevloopEvent, Emit } from '../../report/events.ts';

/**
 * Warns of each path on which the process that the user started answers 404: once, and again only after another answer there. devloop sends
 * this process no requests to find out, unlike a controller of its own: a server that expects only reviews may crash, and a debugger would
 * stop at a breakpoint in its handler.
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
  'If your code does not serve this path yet, add its handler, and start the process again. Check the arguments and variables that switch webhooks on.';

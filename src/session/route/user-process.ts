import type { DevloopEvent, Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';

/**
 * Warns of each path on which a real review is answered 404: once, and again only after another answer there. devloop sends no requests to
 * find out to a process that the user started, unlike to a controller of its own: a server that expects only reviews may crash, and a
 * debugger would stop at a breakpoint in its handler. And some servers answer only real reviews. `whose`: `The controller` or `Your process`.
 */
export function noticeUnserved(whose: string, emit: Emit): { observe(event: DevloopEvent): void } {
  const unserved = new Set<string>();
  return {
    observe(event) {
      if (event.type !== 'review' || event.verdict === 'answered-by-devloop') return;
      const { path } = event;
      if (event.code !== 404 || event.verdict !== 'failed') return void unserved.delete(path);
      if (unserved.has(path)) return;
      unserved.add(path);
      emit(notice('webhooks.answered-404', { who: whose, path }));
    },
  };
}

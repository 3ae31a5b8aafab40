import type { DevloopEvent } from '../../src/report/events.ts';
import type { NoticeCode } from '../../src/report/notices/catalogue.ts';

/** What devloop says of a controller that does something again and again, or too much. None is about an operator as it should be. */
const CODES = new Set<string>([
  'reconciles.wake-themselves',
  'reconciles.finalizer-left',
  'calls.after-own',
  'calls.unchanged',
  'calls.conflicts',
  'calls.contested',
  'calls.throttled',
  'calls.large-list',
  'calls.watch-restarts',
] satisfies NoticeCode[]);

export function callWarnings(events: DevloopEvent[]): DevloopEvent[] {
  return events.filter((event) => event.type === 'warning' && CODES.has(event.code));
}

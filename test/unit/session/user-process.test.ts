import { expect, test } from 'vitest';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { noticeUnserved } from '../../../src/session/route/user-process.ts';
import { recordEvents } from '../controller/support/events.ts';

/** As the gateway reports a review that has an answer. */
function review(path: string, outcome: Partial<DevloopEvent>): DevloopEvent {
  return { type: 'review', path, verdict: 'failed', code: 404, ...outcome } as DevloopEvent;
}

test('a path on which the process of the user answers 404 is named once, and again after another answer', () => {
  const { all, emit } = recordEvents();
  const { observe } = noticeUnserved('Your process', emit);
  observe(review('/a', {}));
  observe(review('/a', {}));
  observe(review('/b', {}));
  expect(all('warning')).toMatchObject([
    { code: 'webhooks.answered-404', values: { path: '/a' } },
    { code: 'webhooks.answered-404', values: { path: '/b' } },
  ]);
  observe(review('/a', { verdict: 'allowed', code: 200 }));
  observe(review('/a', {}));
  expect(all('warning')).toHaveLength(3);
});

test('other failures, denials with 404, and what devloop answers itself say nothing about paths', () => {
  const { all, emit } = recordEvents();
  const { observe } = noticeUnserved('Your process', emit);
  observe(review('/a', { code: 500 }));
  observe(review('/a', { verdict: 'denied' }));
  observe(review('/a', { verdict: 'answered-by-devloop' }));
  expect(all('warning')).toEqual([]);
});

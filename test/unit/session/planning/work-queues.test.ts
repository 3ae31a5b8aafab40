import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { WorkQueues } from '../../../../src/session/planning/work-queues.ts';

let queues: WorkQueues;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  queues = new WorkQueues();
});
afterEach(() => void vi.useRealTimers());

const begin = (reconcile: string, name = 'web'): void =>
  queues.begun({ reconcile, at: 0, controller: 'shop', namespace: 'default', name });
const later = (ms: number): number => {
  vi.advanceTimersByTime(ms);
  return queues.emptyMs;
};

it('knows nothing of a controller that has reported nothing', () => {
  expect(later(5_000)).toBe(0);
});

it('are empty since the last reconcile has ended', () => {
  begin('one');
  begin('two', 'other');
  queues.ended({ reconcile: 'one', at: 0, result: 'success' });
  expect(later(1_000)).toBe(0);
  queues.ended({ reconcile: 'two', at: 0, result: 'requeue_after', requeueAfterMs: 36_000_000 });
  expect(later(700)).toBe(700);
});

it.each(['error', 'requeue', 'panic'] as const)(
  'are not empty after %s, until the object was reconciled again',
  (result) => {
    begin('one');
    queues.ended({ reconcile: 'one', at: 0, result });
    expect(later(9_000)).toBe(0);
    begin('two');
    queues.ended({ reconcile: 'two', at: 0, result: 'success' });
    expect(later(300)).toBe(300);
  },
);

it('are not empty while an object is to be looked at again soon', () => {
  begin('one');
  queues.ended({ reconcile: 'one', at: 0, result: 'requeue_after', requeueAfterMs: 3_000 });
  expect(later(2_500)).toBe(0);
});

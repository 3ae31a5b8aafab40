import { expect, it } from 'vitest';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { NOTHING_SEEN, seenAfter } from '../../../src/session/page.ts';
import { reviewOf } from '../../support/session-facts.ts';

const started: DevloopEvent = { type: 'controller.started', pid: 1, command: [], build: '3f2a91c 10:14:58' };
const after = (...events: DevloopEvent[]) =>
  events.reduce((seen, event) => seenAfter(seen, event, ['shop/hook']), NOTHING_SEEN);

it('keeps what the compiler says until the source builds again', () => {
  const failed: DevloopEvent = { type: 'build.failed', ms: 1, output: 'main.go:1: no' };
  expect(after(failed, { type: 'build.started', reason: [] }).compiler).toBe('main.go:1: no');
  expect(after(failed, { type: 'build.done', ms: 1 }).compiler).toBeUndefined();
});

it('counts which answers of the running build differ, and forgets it with the next one', () => {
  const replayed = (number: number, result: 'same' | 'changed'): DevloopEvent => {
    return { type: 'reviews.replayed', review: reviewOf(number), result };
  };
  const compared: DevloopEvent = { type: 'reviews.compared', replayed: 41, changed: 2, leftOut: 0, ms: 1 };
  const all = [started, replayed(1, 'changed'), replayed(2, 'same'), replayed(3, 'changed'), compared];
  expect(after(...all).compared).toEqual({ replayed: 41, changed: 2, ids: ['r-000001', 'r-000003'] });
  expect(after(...all, started)).toMatchObject({ changed: [], compared: undefined });
});

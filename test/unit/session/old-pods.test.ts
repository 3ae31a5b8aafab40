import { beforeEach, expect, it } from 'vitest';
import type { PausingManager } from '../../../src/cluster/takeover/pause/pause.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { followOldPods } from '../../../src/session/start/old-pods.ts';

let events: DevloopEvent[];
let ending: AbortController;
beforeEach(() => {
  events = [];
  ending = new AbortController();
});
const work = () => ({ emit: (event: DevloopEvent) => void events.push(event), signal: ending.signal });

/** A manager with this many Pods; `ended` resolves when the test says so. */
function manager(pods: number) {
  const ended = Promise.withResolvers<boolean>();
  let left = pods;
  const pausing: PausingManager = {
    ...{ idle: Promise.resolve(), terminating: Promise.resolve(), ended: ended.promise },
    podsLeft: async () => left,
  };
  return {
    pausing,
    end(inTime = true): void {
      if (inTime) left = 0;
      ended.resolve(inTime);
    },
    leave: () => (left = 0),
    fail: (error: Error) => ended.reject(error),
  };
}

it('a Pod that drains delays nothing, and its end is announced later', async () => {
  const [one, other] = [manager(2), manager(1)];
  const pods = followOldPods(work(), [one.pausing, other.pausing]);
  expect(await pods.count()).toBe(3);
  const gone = pods.gone();
  one.end();
  other.end();
  expect(await gone).toBe(true);
  expect(await pods.count()).toBe(0);
  expect(events).toEqual([]);
});

it('a Pod that takes longer than the limit is warned of once, and its end is still announced', async () => {
  const one = manager(1);
  const gone = followOldPods(work(), [one.pausing]).gone();
  one.end(false);
  await expect.poll(() => events).toHaveLength(1);
  one.leave();
  expect(await gone).toBe(true);
  expect(events).toMatchObject([{ code: 'manager.still-terminating' }]);
});

it('nothing is announced if no Pod has to end, the session ends first, or the Pods cannot be seen', async () => {
  const stays: PausingManager = {
    idle: Promise.resolve(),
    terminating: Promise.resolve(),
    ended: Promise.resolve(true),
  };
  const none = followOldPods(work(), [stays]);
  expect([await none.count(), await none.gone()]).toEqual([0, false]);
  const hidden = manager(1);
  const unseen = followOldPods(work(), [hidden.pausing]);
  hidden.fail(new Error('pods is forbidden'));
  expect(await unseen.gone()).toBe(false);
  expect(events).toMatchObject([{ code: 'manager.unseen', values: { cause: 'pods is forbidden' } }]);
  const late = manager(1);
  const left = followOldPods(work(), [late.pausing]).gone();
  ending.abort();
  late.fail(new Error('interrupted'));
  expect(await left).toBe(false);
  expect(events).toHaveLength(1);
});

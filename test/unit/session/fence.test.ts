import { expect, it } from 'vitest';
import type { LeaseState } from '../../../src/cluster/takeover/lease.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { createFence } from '../../../src/session/start/fence.ts';

type State = LeaseState | 'ended';

function fence(first: State, renewal: () => State | Promise<State> = () => first) {
  const now = { state: first, renewals: 0 };
  const codes: string[] = [];
  const renew = async (): Promise<void> => {
    now.renewals += 1;
    now.state = await renewal();
  };
  const emit = (event: DevloopEvent): void => void ('code' in event && codes.push(String(event.code)));
  const pass = createFence({ state: () => now.state, renew }, { emit });
  return { pass: () => pass(new AbortController().signal), now, codes };
}

it('while the Lease is held, writes pass without a call', async () => {
  const { pass, now, codes } = fence('held');
  expect(await pass()).toBeUndefined();
  expect([now.renewals, codes]).toEqual([0, []]);
});

it('after a sleep, writes wait for one renewal, and pass if the Lease is still ours', async () => {
  const renewed = Promise.withResolvers<State>();
  const { pass, now, codes } = fence('outdated', () => renewed.promise);
  const writes = [pass(), pass(), pass()];
  renewed.resolve('held');
  expect(await Promise.all(writes)).toEqual([undefined, undefined, undefined]);
  expect([now.renewals, codes]).toEqual([1, []]);
});

it('a Lease that somebody else has taken while this machine was asleep is found before the first write', async () => {
  const { pass, codes } = fence('outdated', () => 'lost');
  expect(await pass()).not.toHaveProperty('retryAfterSeconds');
  expect(await pass()).toMatchObject({ code: 503 });
  expect(codes).toEqual(['api.fenced']);
});

it('a Lease that cannot be renewed stops writes until it is, and both are said once', async () => {
  const { pass, now, codes } = fence('outdated');
  expect(await pass()).toMatchObject({ code: 503, retryAfterSeconds: 1 });
  expect(await pass()).toMatchObject({ code: 503, retryAfterSeconds: 1 });
  now.state = 'held';
  expect(await pass()).toBeUndefined();
  expect(await pass()).toBeUndefined();
  expect(codes).toEqual(['api.fenced', 'api.unfenced']);
});

it('at the end of a session nothing more is written, and nothing is said about the Lease', async () => {
  const { pass, codes } = fence('ended');
  expect(await pass()).toMatchObject({ code: 503 });
  expect(codes).toEqual([]);
});

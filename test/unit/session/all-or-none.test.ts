import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { allOrNone } from '../../../src/async.ts';
import { DevloopError } from '../../../src/errors.ts';

const never = 1_000_000;

it('ends all with the first failure, tells that one, and waits for the others to come to rest', async () => {
  const ending = new AbortController();
  const cause = new DevloopError('controller.build-failed', 'no such package');
  let atRest = false;
  const relay = pause(never, undefined, { signal: ending.signal }).catch(async () => {
    await pause(5);
    atRest = true;
    throw new DevloopError('interrupted', 'Interrupted while waiting for Pod a/b.');
  });
  await expect(allOrNone([relay, Promise.reject(cause)], ending)).rejects.toBe(cause);
  expect(atRest).toBe(true);
});

it('answers in order', async () => {
  const ending = new AbortController();
  expect(await allOrNone([pause(5, 'one'), Promise.resolve('two')], ending)).toEqual(['one', 'two']);
  expect(ending.signal.aborted).toBe(false);
});

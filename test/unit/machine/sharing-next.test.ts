import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { sharingNext } from '../../../src/async.ts';

/** Runs that end when the test tells them to. */
function setUp() {
  const runs: { resolve(value: string): void; reject(cause: Error): void }[] = [];
  const ask = sharingNext(() => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    runs.push({ resolve, reject });
    return promise;
  });
  return { runs, ask };
}

test('calls that come while one runs share the next run', async () => {
  const { runs, ask } = setUp();
  const first = ask();
  const later = [ask(), ask(), ask()];
  expect(runs.length).toBe(1);
  runs[0]!.resolve('old');
  expect(await first).toBe('old');
  await setImmediate();
  expect(runs.length).toBe(2);
  const last = ask();
  runs[1]!.resolve('new');
  expect(await Promise.all(later)).toEqual(['new', 'new', 'new']);
  runs[2]!.resolve('newest');
  expect(await last).toBe('newest');
});

test('a run that fails is the failure of those who share it alone', async () => {
  const { runs, ask } = setUp();
  const first = ask();
  const later = ask();
  runs[0]!.reject(new Error('unreadable'));
  await expect(first).rejects.toThrow('unreadable');
  await setImmediate();
  runs[1]!.resolve('readable');
  expect(await later).toBe('readable');
});

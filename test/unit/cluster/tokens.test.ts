import { expect, test } from 'vitest';
import { createTokens } from '../../../src/cluster/api/tokens.ts';

const LIFE_SECONDS = 1000;

/** Issues `1`, `2`, …, on a clock of the test. */
function tokens(issue: (count: number) => Promise<void> | void = () => {}) {
  const clock = { seconds: 0 };
  const state = { clock, issued: 0, failures: [] as unknown[] };
  const all = createTokens(
    async () => {
      state.issued += 1;
      const token = String(state.issued);
      await issue(state.issued);
      return { token, lifeSeconds: LIFE_SECONDS };
    },
    (error) => state.failures.push(error),
    () => {
      const began = clock.seconds;
      return () => (clock.seconds - began) * 1000;
    },
  );
  return { ...all, state };
}

test('calls share the first request, and a token until 80 % of its life', async () => {
  const { current, state } = tokens();
  expect(await Promise.all([current(), current()])).toEqual(['1', '1']);
  state.clock.seconds = 799;
  expect(await current()).toBe('1');
  expect(state.issued).toBe(1);
});

test('from then on it is renewed while calls still use it', async () => {
  const renewed = Promise.withResolvers<void>();
  const { current, state } = tokens((count) => (count === 2 ? renewed.promise : undefined));
  await current();
  state.clock.seconds = 801;
  expect(await current()).toBe('1');
  expect(await current()).toBe('1');
  expect(state.issued).toBe(2);
  renewed.resolve();
  await renewed.promise;
  await expect.poll(current).toBe('2');
  expect(state.issued).toBe(2);
});

test('a call waits for another token if the old one has expired, as after a sleep', async () => {
  const { current, state } = tokens();
  await current();
  state.clock.seconds = 5000;
  expect(await current()).toBe('2');
});

test('a refused token is replaced once, however many calls it was refused to', async () => {
  const { current, rejected, state } = tokens();
  const used = await current();
  state.clock.seconds = 60;
  await Promise.all([rejected(used), rejected(used)]);
  await rejected(used);
  expect(await current()).toBe('2');
  expect(state.issued).toBe(2);
});

test('if the token that replaced it is refused, too, the next one has to wait', async () => {
  const { current, rejected, state } = tokens();
  await rejected(await current());
  await rejected(await current());
  expect(state.issued).toBe(2);
  state.clock.seconds = 10;
  await rejected(await current());
  expect(state.issued).toBe(3);
});

test('a token that cannot be renewed is used on, and the renewal is tried again after a while', async () => {
  const { current, rejected, state } = tokens((count) => {
    if (count === 2) throw new Error('not found');
  });
  await current();
  state.clock.seconds = 900;
  await rejected('1');
  expect(await current()).toBe('1');
  expect([state.issued, state.failures]).toEqual([2, [new Error('not found')]]);
  state.clock.seconds = 911;
  await rejected('1');
  expect(await current()).toBe('3');
});

test('without a first token, there is none', async () => {
  const { current } = tokens(() => {
    throw new Error('forbidden');
  });
  await expect(current()).rejects.toThrow('forbidden');
});

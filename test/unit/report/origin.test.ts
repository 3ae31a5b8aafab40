import { expect, it } from 'vitest';
import { DevloopError, originOf } from '../../../src/errors.ts';

it('what failed first is found below the failures of what was released after it', async () => {
  const first = new DevloopError('cluster.unreachable', 'gone');
  const failing = (): Promise<void> => Promise.reject(new Error('cannot be released either'));
  const run = async (): Promise<void> => {
    await using stack = new AsyncDisposableStack();
    stack.defer(failing);
    stack.defer(failing);
    throw first;
  };
  const thrown: unknown = await run().catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(SuppressedError);
  expect(originOf(thrown)).toBe(first);
  expect(originOf(first)).toBe(first);
});

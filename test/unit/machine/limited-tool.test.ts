import { expect, test } from 'vitest';
import { runWithin } from '../../../src/machine/limited-tool.ts';

test('a program that does not end is ended, and an abort is no limit', async () => {
  const { signal } = new AbortController();
  expect(await runWithin(50, ['sleep', '60'], { signal })).toBeUndefined();
  expect(await runWithin(60_000, ['echo', 'done'], { signal })).toMatchObject({ code: 0, stdout: 'done\n' });
  const interrupted = new AbortController();
  const running = runWithin(60_000, ['sleep', '60'], { signal: interrupted.signal });
  interrupted.abort(new Error('interrupted'));
  await expect(running).rejects.toThrow('interrupted');
});

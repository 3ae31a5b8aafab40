import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { describeBuild, showProgress } from '../../cluster/progress.ts';

it('estimates the rest of a build from the packages so far', () => {
  expect(describeBuild('Kubernetes', { compiled: 1000, total: 3000 }, 60_000)).toMatch(
    /1000 of 3000 packages, about 2 min left$/,
  );
  expect(describeBuild('Kubernetes', { compiled: 2900, total: 3000 }, 290_000)).toMatch(
    /2900 of 3000 packages, about 10 s left$/,
  );
});

it('estimates nothing from the first few seconds', () => {
  expect(describeBuild('Kubernetes', { compiled: 0, total: 3000 }, 20_000)).toMatch(/0 of 3000 packages$/);
  expect(describeBuild('Kubernetes', { compiled: 300, total: 3000 }, 5_000)).toMatch(/300 of 3000 packages$/);
});

it('names the linker once every package is compiled', () => {
  expect(describeBuild('Kubernetes', { compiled: 3000, total: 3000 }, 300_000)).toContain('linking');
  expect(describeBuild('Kubernetes', { compiled: 0, total: 0 }, 1_000)).toContain('linking');
});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('prints a line every five seconds where there is no terminal, about what is newest', () => {
  const lines: string[] = [];
  const log = (line: string): void => void lines.push(line);
  const quiet = { isTTY: false, columns: 80, write: () => true };
  using _ = showProgress(() => 'all', log, quiet);
  vi.advanceTimersByTime(5_000);
  {
    using __ = showProgress(() => 'a part', log, quiet);
    vi.advanceTimersByTime(10_000);
  }
  vi.advanceTimersByTime(5_000);
  expect(lines).toEqual(['all', 'a part', 'a part', 'all']);
});

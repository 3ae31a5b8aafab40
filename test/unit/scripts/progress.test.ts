import { expect, it } from 'vitest';
import { describeBuild } from '../../cluster/progress.ts';

it('estimates the rest of a build from the packages so far', () => {
  expect(describeBuild(1000, 3000, 60_000)).toMatch(/1000 of 3000 packages, about 2 min left$/);
  expect(describeBuild(2900, 3000, 290_000)).toMatch(/2900 of 3000 packages, about 10 s left$/);
});

it('estimates nothing from the first few seconds', () => {
  expect(describeBuild(0, 3000, 20_000)).toMatch(/0 of 3000 packages$/);
  expect(describeBuild(300, 3000, 5_000)).toMatch(/300 of 3000 packages$/);
});

it('names the linker once every package is compiled', () => {
  expect(describeBuild(3000, 3000, 300_000)).toContain('linking');
  expect(describeBuild(0, 0, 1_000)).toContain('linking');
});

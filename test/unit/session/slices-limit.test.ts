import { expect, test } from 'vitest';
import { slicesLimitMs } from '../../../src/session/end/restore.ts';

const ref = { kind: 'Deployment', namespace: 'shop', name: 'manager' } as const;

test.each<[string, { isLate?: boolean; isBlocked?: boolean }[], boolean, number]>([
  ['a manager that is ready', [{}], false, 10_000],
  ['one that is not ready in time', [{}, { isLate: true }], false, 3_000],
  ['one whose Pods are refused', [{ isBlocked: true }], false, 3_000],
  ['one that was not ready before either', [{}], true, 3_000],
  ['no manager', [], false, 3_000],
])('slices of %s', (_, resumed, wasEmpty, limit) => {
  const left = resumed.map((one) => ({ ref, kept: [], ...one }));
  expect(slicesLimitMs(left, () => wasEmpty)).toBe(limit);
});

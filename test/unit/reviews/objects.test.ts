import { expect, test } from 'vitest';
import { objectDiff } from '../../../src/reviews/objects.ts';

test('a line that stays is no change, also where it was the last one', () => {
  const before = { spec: { replicas: 2 } };
  expect(objectDiff(before, { spec: { replicas: 2, port: 8080 } })).toMatch(
    /^@@.*@@\n spec:\n {3}replicas: 2\n\+ {2}port: 8080$/,
  );
  expect(objectDiff(before, before)).toBe('nothing');
});

import { expect, it } from 'vitest';
import { isRule } from '../../../src/faults/parse.ts';
import { EXAMPLES } from '../../../src/page/client/fault-examples.ts';

it.each(EXAMPLES)('%s is a fault that a session takes', (_, rule) => {
  expect(isRule(rule)).toBe(true);
});

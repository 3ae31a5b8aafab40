import { expect, it } from 'vitest';
import { createWarner } from '../../src/async.ts';
import { notice } from '../../src/report/notices/catalogue.ts';

it('repeats no warning that differs only in how long something took', () => {
  const messages: string[] = [];
  const warn = createWarner(
    (event) => void messages.push(('message' in event && event.message) || event.type),
  );
  const warnings = [
    'POST /validate failed: no answer within 0.8 s',
    'POST /validate failed: no answer within 0.9 s',
    'POST /validate-v2 failed: no answer within 0.8 s',
  ];
  for (const message of warnings) warn(notice('error.further', { cause: message }));
  expect(messages).toEqual([warnings[0], warnings[2]]);
});

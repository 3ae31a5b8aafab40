import { expect, it } from 'vitest';
import { notice } from '../../../src/report/notices/catalogue.ts';
import { safeEvent } from '../../../src/report/text.ts';

it('control characters are removed from the keys of an event, too', () => {
  const event = notice('session.elsewhere', { session: 'a', checkout: '/src' });
  const values = { ...event.values, 'a\u001b[2Jb': 1 };
  expect(safeEvent({ ...event, values } as typeof event, false)).toMatchObject({ values: { ab: 1 } });
});

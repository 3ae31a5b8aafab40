import { expect, test } from 'vitest';
import { redacted } from '../../../src/mcp/redacted.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { notice } from '../../../src/report/notices/catalogue.ts';

const LOGGED = 'dial postgres://shop:swordfish@db/shop: refused';

test.each<[string, DevloopEvent]>([
  ['a line of the log', { type: 'output.line', at: '', stream: 'stdout', line: LOGGED }],
  ['a warning that quotes it', notice('controller.repeats-error', { times: 3, logged: LOGGED })],
  ['an error that quotes it', { type: 'error', code: 'controller.exited', message: LOGGED, exitCode: 6 }],
])('%s has no password, and all else', (_, event) => {
  const text = JSON.stringify(redacted(event));
  expect(text).not.toContain('swordfish');
  expect(text).toContain('@db/shop: refused');
  expect(redacted(event)).toMatchObject({ type: event.type });
});

test('what devloop itself says of Secrets and tokens stays', () => {
  const { message, values } = redacted(
    notice('session.elsewhere', { session: 'a', checkout: '/token/secret' }),
  ) as {
    message: string;
    values: object;
  };
  expect(message).toContain('/token/secret');
  expect(values).toEqual({ session: 'a', checkout: '/token/secret' });
});

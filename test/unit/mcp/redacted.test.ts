import { expect, test } from 'vitest';
import { resultOf } from '../../../src/mcp/result.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { notice } from '../../../src/report/notices/catalogue.ts';

const LOGGED = 'dial postgres://shop:swordfish@db/shop: refused';
const ERROR = { type: 'error' as const, code: 'controller.exited', message: 'It has ended.', exitCode: 6 };

function told(...events: DevloopEvent[]): string {
  return JSON.stringify(resultOf({ events }, { keeps: 'last', ask: '' }));
}

test.each<[string, DevloopEvent]>([
  ['a line of the log', { type: 'output.line', at: '', stream: 'stdout', line: LOGGED }],
  ['a warning that quotes it', notice('controller.repeats-error', { times: 3, logged: LOGGED })],
  ['the cause of a warning', notice('controller.failed', { cause: LOGGED } as never)],
  [
    'a cause whose secret is hidden by what nobody sees',
    notice('controller.failed', { cause: LOGGED.replace('://', ':\u200b//') } as never),
  ],
  ['the hint of an error', { ...ERROR, hint: LOGGED }],
  ['an error that quotes it', { ...ERROR, message: LOGGED }],
])('%s has no password, and all else', (_, event) => {
  const text = told(event);
  expect(text).not.toContain('swordfish');
  expect(text).toContain('@db/shop: refused');
});

test('the error of a call has no password', () => {
  const error = { ...ERROR, message: LOGGED, hint: LOGGED };
  expect(JSON.stringify(resultOf({ events: [], error }, { keeps: 'last', ask: '' }))).not.toContain(
    'swordfish',
  );
});

test('what devloop itself says of Secrets and tokens stays', () => {
  expect(told(notice('session.elsewhere', { session: 'a', checkout: '/token/secret' }))).toContain(
    '"/token/secret"',
  );
});

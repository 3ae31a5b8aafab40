import { expect, it } from 'vitest';
import { logWords } from '../../../src/page/log-line.ts';

const FIELDS =
  '{"controller": "application", "Application": {"name":"full"}, "reconcileID": "7d2f", "error": "it is \\"there\\""}';

it.each([
  [
    `2026-11-29T09:46:14Z\tERROR\tReconciler error\t${FIELDS}`,
    { message: 'Reconciler error', level: 'error', error: 'it is "there"' },
  ],
  [
    '2026-11-29T09:46:14Z    INFO    Updated Deployment full {"a": 1}',
    { message: 'Updated Deployment full', level: 'info' },
  ],
  ['2026-11-29T09:46:14Z\tINFO\tno fields', { message: 'no fields', level: 'info' }],
  ['{"level":"info","ts":1,"msg":"Created","reconcileID":"7d2f"}', { message: 'Created', level: 'info' }],
  [
    'E1129 09:46:14.123456   4711 controller.go:42] "Reconciler error" err="no \\"web\\"" name="full"',
    { message: 'Reconciler error', level: 'error', error: 'no "web"' },
  ],
  ['hello', undefined],
  ['{"no": "message"}', undefined],
  ['{broken', undefined],
])('%s', (line, words) => {
  expect(logWords(line)).toEqual(words);
});

import { expect, test } from 'vitest';
import type { CallRecord } from '../../../../src/calls/record.ts';
import { isCut } from '../../../../src/session/crashing/runs.ts';

const SINCE = Date.parse('2026-01-01T10:00:00Z');
const call = (id: string, at: string): CallRecord => ({ v: 1, id, at, verb: 'get', ms: 1 });

test.each([
  ['what came before the run is still there', [call('c-000041', '2026-01-01T09:59:59Z')], false],
  ['the first call of all is of the run', [call('c-000001', '2026-01-01T10:00:01Z')], false],
  [
    'the oldest kept call is of the run, and not the first of all',
    [call('c-009001', '2026-01-01T10:00:01Z')],
    true,
  ],
  ['nothing is recorded', [], false],
])('whether the recording of a run is cut: %s', (_, kept, expected) => {
  expect(isCut(kept, SINCE)).toBe(expected);
});

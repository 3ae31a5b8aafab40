import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { CallRecord, ReconcileRecord } from '../../../src/calls/record.ts';
import type { ReviewRecord } from '../../../src/reviews/record.ts';
import { createRecording } from '../../../src/reviews/recording.ts';
import { thisMachine } from '../../../src/session/context/local-machine.ts';
import { claimDirectory } from '../../../src/session/context/session-directories.ts';
import { BIN } from './run-bin.ts';

let state: string;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'devloop-calls-'));
});
afterEach(() => rmSync(state, { recursive: true }));

function run(...args: string[]) {
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', NO_COLOR: '1', XDG_STATE_HOME: state };
  const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, ...args], {
    ...{ env, cwd: state, encoding: 'utf8' },
  });
  return { status, stdout, stderr };
}

const REVIEW: ReviewRecord = {
  ...{ v: 1, id: 'r-000001', uid: 'u1', at: '2026-01-01T10:15:02.000Z', kind: 'admission' },
  ...{ webhook: 'v.kb.io', path: '/v', user: 'ann', operation: 'UPDATE', verdict: 'allowed' },
  ms: { held: 0, controller: 7, total: 8, budget: 10_000 },
};
const CALL: CallRecord = {
  ...{ v: 1, id: 'c-000002', at: '2026-01-01T10:15:02.000Z', verb: 'update', isWrite: true, code: 200 },
  ...{ group: 'shop', resource: 'shops', kind: 'Shop', name: 'main', reconcile: 'a', reviews: ['u1'], ms: 1 },
  warnings: ['unknown field "spec.colour"'],
  objectBefore: { spec: { a: 1 } },
  objectAfter: { spec: { a: 2 } },
};
const READ: CallRecord = { v: 1, id: 'c-000001', at: CALL.at, verb: 'get', code: 200, reconcile: 'a', ms: 1 };
const RECONCILE: ReconcileRecord = {
  ...{ v: 1, id: 'k-000001', reconcile: 'a', at: CALL.at, controller: 'shop', kind: 'Shop', name: 'main' },
  ...{ result: 'success', calls: [CALL], counts: { writes: 1, reads: 1, failed: 0 }, after: [], ms: 2 },
};

/** A session of this process that has recorded these. */
async function recordSession(...recorded: (CallRecord | ReconcileRecord)[]): Promise<void> {
  const directory = await claimDirectory(await thisMachine({ XDG_STATE_HOME: state }), 'aaaaaaaa', {
    checkout: state,
  });
  for (const [what, records] of [
    ['reviews', [REVIEW]],
    ['calls', recorded],
  ] as const) {
    const recording = createRecording(directory, what);
    for (const record of records) recording.add(record);
    await recording.flush();
  }
}

it('a call and a reconcile name the reviews that they caused, and a review its call and reconcile', async () => {
  await recordSession(READ, CALL, RECONCILE);
  for (const args of [
    ['calls', '2'],
    ['calls', 'show', '2'],
    ['reconciles', 'show', '1'],
  ])
    expect(run(...args)).toMatchObject({ status: 0, stdout: expect.stringContaining('r-000001') });
  expect(run('calls', '2').stdout).toContain('unknown field "spec.colour"');
  const { stdout } = run('reviews', 'show', '1');
  for (const id of ['c-000002', 'k-000001']) expect(stdout).toContain(id);
});

it('exports what is recorded: a call with its objects, a reconcile with all its calls', async () => {
  await recordSession(READ, CALL, RECONCILE);
  const { stdout, stderr } = run('calls', 'export', '2');
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toEqual(CALL);
  const whole = run('reconciles', 'export', 'k-000001');
  expect(JSON.parse(whole.stdout)).toEqual({ ...RECONCILE, calls: [READ, CALL] });
  expect(run('calls', 'export')).toMatchObject({ status: 2, stdout: '' });
  expect(run('calls', 'export', '2', '--json').status).toBe(2);
  expect(run('calls', 'export', '9')).toMatchObject({
    stdout: '',
    stderr: expect.stringContaining('c-000009'),
  });
});

it('says where to look if no reconcile is known of what the controller writes', async () => {
  const { reconcile: _, ...untagged } = CALL;
  await recordSession(untagged);
  const { stdout, stderr } = run('reconciles', '--json');
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toMatchObject({ code: 'reconciles.untagged', values: { writes: 1 } });
  expect(JSON.parse(run('calls', '--json').stdout)).toMatchObject({ type: 'calls.listed' });
});

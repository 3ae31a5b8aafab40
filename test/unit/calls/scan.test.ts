import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { findCall, scanCalls } from '../../../src/calls/scan.ts';
import { createRecording } from '../../../src/reviews/recording.ts';
import { callOf, reconcileOf } from '../../support/session-facts.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'calls-'));
  const recording = createRecording(directory, 'calls');
  const objects = { objectBefore: { a: 1 }, objectAfter: { a: 2 } };
  recording.add({ v: 1, ...callOf(1), ...objects });
  recording.add({ v: 1, ...reconcileOf(1), log: ['one'] });
  recording.add({ v: 1, ...callOf(2), ...objects });
  recording.add({ ...callOf(3), v: 0 });
  await recording.flush();
});
afterEach(() => rm(directory, { recursive: true }));

const idsAfter = async (call: string, reconcile: string, part = ''): Promise<string[]> => {
  const ids: string[] = [];
  for await (const some of scanCalls(directory, { call, reconcile }, (line) => line.includes(part)))
    ids.push(...some.map(({ id }) => id));
  return ids;
};

it('has what follows the last call and the last reconcile that somebody has, and can leave lines out', async () => {
  expect(await idsAfter('', '')).toEqual(['c-000001', 'k-000001', 'c-000002']);
  expect(await idsAfter('c-000001', '')).toEqual(['k-000001', 'c-000002']);
  expect(await idsAfter('c-000002', 'k-000001')).toEqual([]);
  expect(await idsAfter('', '', '"web-2"')).toEqual(['c-000002']);
});

it('leaves out the objects, and keeps the log', async () => {
  for await (const part of scanCalls(directory, { call: '', reconcile: '' }))
    expect(part).toEqual([
      { v: 1, ...callOf(1) },
      { v: 1, ...reconcileOf(1), log: ['one'] },
      { v: 1, ...callOf(2) },
    ]);
});

it('finds one, with its objects', async () => {
  expect(await findCall(directory, 'c-000001')).toMatchObject({ objectAfter: { a: 2 } });
  expect(await findCall(directory, 'c-000002')).toMatchObject({ name: 'web-2' });
  expect(await findCall(directory, 'k-000001')).toMatchObject({ log: ['one'] });
  for (const id of ['c-000003', 'c-000009', 'c']) expect(await findCall(directory, id)).toBeUndefined();
});

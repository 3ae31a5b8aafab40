import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { apiCall } from '../../../src/api-proxy/api-call.ts';
import { createTally } from '../../../src/async.ts';
import { readCalls } from '../../../src/calls/read.ts';
import { CallRecorder } from '../../../src/calls/recorder.ts';
import { Sampling } from '../../../src/calls/sampling.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { notice } from '../../../src/report/notices/catalogue.ts';
import { createRecording } from '../../../src/reviews/recording.ts';

const WATCH = apiCall({ method: 'GET', url: '/apis/apps/v1/deployments?watch=true' });
const begun = (reconcile: string, name = 'web') => ({
  ...{ reconcile, at: Date.now(), controller: 'shop', kind: 'Shop', namespace: 'default', name },
});

test('a reconcile whose end can have been lost is not cut off by the end of the process', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'overload-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const events: DevloopEvent[] = [];
  const options = { paths: [], build: () => 'b1', signal: new AbortController().signal };
  const calls = new CallRecorder(
    createRecording(directory, 'calls'),
    options,
    (event) => void events.push(event),
  );
  calls.reported.begun(begun('r1'));
  const flood = (): void => {
    for (let sent = 0; sent < 5; sent++) calls.hooks.watched(Buffer.alloc(2 ** 23), 0, WATCH);
  };
  flood();
  await sleep(300);
  flood();
  calls.reported.begun(begun('r2'));
  await sleep(300);
  calls.exited();
  await sleep(200);
  await calls[Symbol.asyncDispose]();
  expect(await readCalls(directory)).toMatchObject([{ reconcile: 'r2', result: 'ended' }]);
  const warnings = events.filter(({ type }) => type === 'warning');
  expect(warnings).toMatchObject([{ code: 'calls.not-listed' }]);
});

test('what happens many times a second is counted, and said again after ten minutes', () => {
  const said: number[] = [];
  let now = 0;
  const tally = createTally(
    (count) => said.push(count),
    () => now,
  );
  for (const [at, more] of [
    [0, 0],
    [1, 36],
    [2, 17],
    [600_000, 5],
    [600_001, 1],
    [1_200_000, 1],
    [1_200_001, 1],
  ]) {
    now = at!;
    tally(more!);
  }
  expect(said).toEqual([36, 59, 61]);
});

test('of a known loop, one of ten reconciles is recorded while the recording is behind', () => {
  const events: DevloopEvent[] = [];
  const sampling = new Sampling((event) => void events.push(event));
  const leftOut = (behindMs: number, name = 'web') =>
    Array.from({ length: 20 }, (_, at) => sampling.begun(begun(`${name} ${at}`, name), behindMs)).filter(
      Boolean,
    );
  expect(leftOut(60_000)).toHaveLength(0);
  const object = { kind: 'Shop', namespace: 'default', name: 'web' };
  const loop = { controller: 'shop', object };
  const often = { ...loop, last: 'k-1', times: 100, seconds: 10, fields: [] };
  sampling.warned(notice('reconciles.wake-themselves', often));
  expect(leftOut(100)).toHaveLength(0);
  expect(events).toEqual([]);
  expect(leftOut(60_000)).toHaveLength(18);
  expect(leftOut(60_000, 'other')).toHaveLength(0);
  expect(sampling.leavesOut('web 0')).toBe(true);
  expect([sampling.leavesOut('other 0'), sampling.leavesOut(undefined)]).toEqual([false, false]);
  expect(events).toMatchObject([{ code: 'reconciles.sampled', values: { ...loop, each: 10 } }]);
  expect(sampling.loop).toEqual(loop);
  sampling.exited();
  expect(leftOut(60_000)).toHaveLength(0);
});

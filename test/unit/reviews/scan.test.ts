import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createRecording, recordingFiles } from '../../../src/reviews/recording.ts';
import { findRecord, scanSummaries } from '../../../src/reviews/scan.ts';
import { reviewOf } from '../../support/session-facts.ts';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'reviews-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

async function record(from: number, to: number): Promise<void> {
  const recording = createRecording(directory);
  for (let number = from; number <= to; number++)
    recording.add({ v: 1, ...reviewOf(number), request: { text: 'ü'.repeat(900) }, response: {} });
  await recording.flush();
}

async function scanned(after = ''): Promise<string[]> {
  const ids: string[] = [];
  for await (const part of scanSummaries(directory, after)) ids.push(...part.reviews.map(({ id }) => id));
  return ids;
}

it('reads a recording in parts, oldest first, without the objects', async () => {
  await record(1, 1_000);
  const parts = [];
  for await (const part of scanSummaries(directory, 'r-000002')) parts.push(part.reviews);
  expect(parts.length).toBeGreaterThan(1);
  expect(parts.flat().map(({ id }) => id)).toEqual(
    Array.from({ length: 998 }, (_, index) => reviewOf(index + 3).id),
  );
  expect(parts[0]![0]).toEqual(reviewOf(3));
});

it('reads a review whose texts look like the end of its summary, and a late answer with a request in it', async () => {
  const recording = createRecording(directory);
  const odd = reviewOf(1, { message: 'no: {"a":1,"request":{}}', user: ',"request":' });
  recording.add({ v: 1, ...odd, request: { request: { request: 1 } }, response: {} });
  const late = { verdict: 'denied', totalMs: 1 } as const;
  recording.add({ v: 1, id: odd.id, late, lateResponse: { a: 1, request: {} } });
  await recording.flush();
  const parts = [];
  for await (const part of scanSummaries(directory, '')) parts.push(part);
  expect(parts).toEqual([{ reviews: [{ ...odd, late }], late: [{ id: odd.id, late }] }]);
});

it('reads both files, and what cannot be read is left out', async () => {
  await record(1, 3);
  const { older, newer } = recordingFiles(directory);
  await appendFile(older, `${JSON.stringify({ v: 1, ...reviewOf(0) })}\nno record\n`);
  await appendFile(newer, '{"v":1,"id":"r-000004","ms":{');
  expect(await scanned()).toEqual(['r-000000', 'r-000001', 'r-000002', 'r-000003']);
  expect(await scanned('r-000003')).toEqual([]);
});

it('finds one review, wherever it is', async () => {
  await record(1, 1_000);
  for (const number of [1, 500, 1_000]) {
    const { id } = reviewOf(number);
    expect(await findRecord(directory, id)).toMatchObject({
      id,
      request: { text: expect.stringMatching(/^ü+$/) },
    });
  }
  expect(await findRecord(directory, 'r-001001')).toBeUndefined();
  expect(await findRecord(directory, '')).toBeUndefined();
});

it('has none where nothing is recorded', async () => {
  expect(await scanned()).toEqual([]);
  expect(await findRecord(directory, 'r-000001')).toBeUndefined();
});

it.each([
  'answered-by-devloop',
  // Its client had disconnected, and the controller continued.
  'unanswered',
] as const)('finds late answers, also far behind their reviews, for one that is %s', async (verdict) => {
  await record(1, 2);
  const recording = createRecording(directory);
  const own = { v: 1, ...reviewOf(3), verdict } as const;
  recording.add({ ...own, request: {}, response: {} });
  await recording.flush();
  await record(4, 600);
  const late = { verdict: 'denied', message: 'no', totalMs: 41_000 } as const;
  recording.add({ v: 1, id: own.id, late, lateResponse: { response: { allowed: false } } });
  await recording.flush();
  expect(await findRecord(directory, own.id)).toMatchObject({
    ...{ id: own.id, late, lateResponse: { response: { allowed: false } } },
  });
  // A page that connects again already has the review, but not its late answer.
  const found = [];
  for await (const part of scanSummaries(directory, reviewOf(500).id)) found.push(...part.late);
  expect(found).toEqual([{ id: own.id, late }]);
});

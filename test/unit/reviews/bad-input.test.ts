import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { detailOf } from '../../../src/page/detail.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { createAnswering } from '../../../src/reviews/answering-build.ts';
import { differences } from '../../../src/reviews/compare.ts';
import { readRecording } from '../../../src/reviews/read.ts';
import { Recorder } from '../../../src/reviews/recorder.ts';
import { createRecording, recordingFiles } from '../../../src/reviews/recording.ts';
import { sectionsOf } from '../../../src/reviews/show.ts';
import { Controller, setUp, until } from '../gateway/support.ts';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'reviews-'));
});
afterEach(() => rm(directory, { recursive: true }));

const object = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec: {} };
const REVIEW = JSON.stringify({
  kind: 'AdmissionReview',
  request: { uid: 'u', operation: 'CREATE', object },
});
const allowed = (more: object = {}): string =>
  JSON.stringify({ kind: 'AdmissionReview', response: { uid: 'u', allowed: true, ...more } });
const patch = (operations: unknown): object => ({
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
});

interface Bad {
  what: string;
  body?: string;
  type?: string;
  /** The answer of the controller. */
  answer?: string;
  verdict: string;
}

const ALL: Bad[] = [
  { what: 'not a review', body: '{"kind":"Pod"}', verdict: 'allowed' },
  { what: 'a list', body: '[]', verdict: 'allowed' },
  { what: 'nothing', body: '', verdict: 'allowed' },
  { what: 'cut JSON', body: REVIEW.slice(0, -9), verdict: 'allowed' },
  { what: 'another content type', type: 'text/plain', verdict: 'allowed' },
  { what: 'no UTF-8', body: REVIEW.replace('web', '\u{fffd}\u{0}'), verdict: 'allowed' },
  { what: 'an answer that is not a review', answer: '<html>', verdict: 'failed' },
  { what: 'an answer that is cut', answer: allowed().slice(0, -9), verdict: 'failed' },
  { what: 'an answer without a verdict', answer: '{"response":{}}', verdict: 'failed' },
  { what: 'an empty answer', answer: '', verdict: 'failed' },
  {
    what: 'a patch that does not apply',
    answer: allowed(patch([{ op: 'remove', path: '/spec/none' }])),
    verdict: 'allowed',
  },
  {
    what: 'warnings that are no texts',
    answer: allowed({ warnings: [{ toString: 1, valueOf: 1 }, null, 7] }),
    verdict: 'allowed',
  },
  { what: 'a patch that is no list', answer: allowed(patch({ op: 'add' })), verdict: 'allowed' },
  { what: 'a patch that is no base64', answer: allowed({ patch: '%' }), verdict: 'allowed' },
];

it('whatever is asked and answered passes unchanged, is recorded, and can be shown', async () => {
  const events: DevloopEvent[] = [];
  const controller = new Controller((request, response) => {
    const { answer = allowed() } = ALL[Number(request.headers['x-case'])]!;
    request.resume().on('end', () => response.end(answer));
  });
  {
    await using recorder = new Recorder(
      createRecording(directory),
      { answering: createAnswering() },
      (event) => void events.push(event),
    );
    await using bench = await setUp(controller, {
      hooks: { served: recorder.served, arrived: recorder.arrived },
    });
    for (const [index, { what, body = REVIEW, type = 'application/json', answer }] of ALL.entries()) {
      const headers = { 'Content-Type': type, 'x-case': String(index) };
      const reply = await bench.ask('/validate?timeout=5s', { body, headers });
      expect([what, reply.status, reply.text]).toEqual([what, 200, answer ?? allowed()]);
    }
    expect(bench.events).toEqual([]);
    // The gateway calls the recorder when the answer is out.
    await until(() => recorder.waiting().reviews.length === 0);
  }
  const { records, unread } = await readRecording(directory);
  expect(unread).toBe(0);
  expect(records.map(({ verdict }, at) => [ALL[at]!.what, verdict])).toEqual(
    ALL.map(({ what, verdict }) => [what, verdict]),
  );
  expect(events.map(({ type }) => type)).toEqual(ALL.map(() => 'review'));
  for (const record of records) {
    expect(sectionsOf(record).length).toBeGreaterThan(0);
    expect(detailOf(record).review.id).toBe(record.id);
    expect(differences(record, record)).toEqual([]);
  }
  const unfit = records.find((_, at) => ALL[at]!.what === 'a patch that does not apply')!;
  expect(
    sectionsOf(unfit)
      .map(({ text }) => text)
      .join(),
  ).toContain('does not apply');
});

it('a disk that takes nothing is one warning: reviews are listed and answered as before', async () => {
  await mkdir(recordingFiles(directory).newer);
  const events: DevloopEvent[] = [];
  {
    await using recorder = new Recorder(
      createRecording(directory),
      { answering: createAnswering() },
      (event) => void events.push(event),
    );
    await using bench = await setUp(new Controller(), { hooks: { served: recorder.served } });
    for (let count = 0; count < 3; count++) {
      expect((await bench.ask('/validate?timeout=5s', { body: REVIEW })).status).toBe(200);
      await recorder.written();
    }
  }
  expect(events.filter(({ type }) => type === 'review')).toHaveLength(3);
  expect(events.filter(({ type }) => type === 'warning')).toHaveLength(1);
});

import { execFileSync, spawn } from 'node:child_process';
import { appendFile, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { createAnswering } from '../../../src/reviews/answering-build.ts';
import { parseRecords, readRecording, readRecords } from '../../../src/reviews/read.ts';
import type { ReviewRecord } from '../../../src/reviews/record.ts';
import { Recorder } from '../../../src/reviews/recorder.ts';
import { createRecording, recordingFiles } from '../../../src/reviews/recording.ts';
import { selects } from '../../../src/reviews/select.ts';
import { sectionsOf } from '../../../src/reviews/show.ts';
import { eventually } from '../../support/eventually.ts';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'reviews-'));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

const record = (number: number): ReviewRecord => ({
  v: 1,
  id: `r-${String(number).padStart(6, '0')}`,
  at: new Date(number).toISOString(),
  kind: 'admission',
  webhook: 'v.kb.io',
  path: '/v',
  resource: { group: '', version: 'v1', kind: 'Pod' },
  object: { namespace: 'shop', name: `web-${number}` },
  user: 'ann',
  verdict: number % 2 === 0 ? 'allowed' : 'denied',
  ms: { held: 0, controller: number, total: number, budget: 10_000 },
});

it('has the whole summary for those who read no more of it, whatever the order of what was recorded', async () => {
  const recording = createRecording(directory);
  const summary = { ...record(1), build: '3f2a91c 10:14:58', isOwnUser: true as const };
  recording.add({ request: { a: 1 }, response: { b: 2 }, ...summary });
  await recording.flush();
  expect((await readRecording(directory, 'summaries')).records).toEqual([summary]);
  expect((await readRecording(directory)).records).toEqual([
    { ...summary, request: { a: 1 }, response: { b: 2 } },
  ]);
});

it('keeps reviews for their owner alone, and reads them again', async () => {
  const recording = createRecording(directory);
  recording.add(record(1));
  await recording.flush();
  recording.add(record(2));
  await recording.flush();
  expect((await readRecording(directory)).records).toEqual([record(1), record(2)]);
  expect((await stat(recordingFiles(directory).newer)).mode & 0o777).toBe(0o600);
});

it('is read as a whole, even when its older half is dropped at the same moment', async () => {
  const { older, newer } = recordingFiles(directory);
  const lineOf = (number: number): string => `${JSON.stringify(record(number))}\n`;
  await writeFile(newer, lineOf(2));
  // A reader of the older file gets to its end after all of this has happened.
  execFileSync('mkfifo', [older]);
  const script = 'exec 3> "$1"; printf %s "$3" >&3; mv "$2" "$1"; printf %s "$4" > "$2"';
  spawn('sh', ['-c', script, 'sh', older, newer, lineOf(1), lineOf(3)], { stdio: 'ignore' });
  expect((await readRecording(directory)).records).toEqual([record(2), record(3)]);
});

it('keeps the newest ones, at most five thousand', async () => {
  const recording = createRecording(directory);
  for (let number = 1; number <= 8_000; number++) {
    recording.add(record(number));
    if (number % 100 === 0) await recording.flush();
  }
  const { records } = await readRecording(directory);
  expect(records.length).toBeLessThanOrEqual(5_000);
  expect(records.length).toBeGreaterThanOrEqual(2_500);
  expect(records.at(-1)).toEqual(record(8_000));
});

it('does not write through a link, and says so once', async () => {
  await writeFile(join(directory, 'other'), '');
  await symlink(join(directory, 'other'), recordingFiles(directory).newer);
  const recording = createRecording(directory);
  recording.add(record(1));
  await expect(recording.flush()).rejects.toMatchObject({ code: 'ELOOP' });
  recording.add(record(2));
  await recording.flush();
  expect((await stat(join(directory, 'other'))).size).toBe(0);
});

it('skips what it does not know: half a line at the end, a newer version', async () => {
  const recording = createRecording(directory);
  recording.add(record(1));
  await recording.flush();
  await appendFile(recordingFiles(directory).newer, '{"v":2,"id":"r-000002"}\n{"v":1,"id"');
  expect(await readRecording(directory)).toMatchObject({ records: [record(1)], unread: 1 });
  expect(parseRecords('null\n[]\n')).toMatchObject({ records: [], unread: 2 });
});

it.each([
  [{ ms: null }],
  [{ ms: { total: 1 } }],
  [{ path: null }],
  [{ webhook: undefined }],
  [{ user: [] }],
  [{ warnings: 'text' }],
  [{ patch: null }],
  [{ from: {} }],
  [{ lateResponse: null }],
  [{ resource: {} }],
  [{ object: { name: null } }],
  [{ request: null }],
  [{ late: null }],
  [{ late: { verdict: 'denied', totalMs: 1, patch: {} } }],
])('knows no review with %j, as after an edit of a saved set', (edit) => {
  const line = JSON.stringify({ ...record(1), ...edit });
  expect(parseRecords(`${line}\n`)).toMatchObject({ records: [], unread: 1 });
});

it.each([
  [{ kind: 'unreadable' as const, request: null, response: null }],
  [{ request: { request: { object: 1 } }, response: { response: { patch: [{ op: 'add', path: '/a' }] } } }],
  [{ request: { request: { object: {} } }, response: { response: { patch: [null] } } }],
])('shows what is no review: %j', (edit) => {
  const [odd] = parseRecords(`${JSON.stringify({ ...record(1), ...edit })}\n`).records;
  expect(sectionsOf(odd!).map(({ title }) => title)).toContain('answer');
});

it.each([
  [{ kind: 'pod' }, true],
  [{ kind: 'node' }, false],
  [{ name: 'web' }, true],
  [{ namespace: 'default' }, false],
  [{ verdict: 'denied' as const }, true],
  [{ user: 'ann', webhook: 'kb.io' }, true],
  [{ since: 8 }, false],
  [{ slowMs: 7, since: 7 }, true],
])('selects by %j: %s', (filter, expected) => {
  expect(selects(filter, record(7))).toBe(expected);
});

function newRecorder(events: DevloopEvent[], answering = createAnswering()): Recorder {
  const isOwn = (user: string) => user === 'me';
  return new Recorder(createRecording(directory), { answering, isOwn }, (event) => void events.push(event));
}

it('marks what the account of the session asked for', async () => {
  const events: DevloopEvent[] = [];
  const answer = { status: 200, headers: [], body: Buffer.from('{"response":{"allowed":true}}') };
  const ms = { held: 0, controller: 1, total: 1, budget: 10_000 };
  {
    await using recorder = newRecorder(events);
    for (const username of ['me', 'ann']) {
      const review = { kind: 'AdmissionReview', request: { uid: 'u', userInfo: { username } } };
      const body = Buffer.from(JSON.stringify(review));
      recorder.served({ url: '/v', port: 9443, at: 0, body, answer, ms });
    }
  }
  expect(events).toMatchObject([{ user: 'me', isOwnUser: true }, { user: 'ann' }]);
  expect(events[1]).not.toHaveProperty('isOwnUser');
});

it('records in the order of the answers, all at the end, and reports each', async () => {
  const events: DevloopEvent[] = [];
  const body = Buffer.from(JSON.stringify({ kind: 'AdmissionReview', request: { uid: 'u' } }));
  const answer = { status: 200, headers: [], body: Buffer.from('{"response":{"allowed":true}}') };
  const ms = { held: 0, controller: 1, total: 1, budget: 10_000 };
  {
    await using recorder = newRecorder(events);
    recorder.name([{ path: '/v', name: 'v.kb.io' }]);
    for (let at = 0; at < 500; at++)
      recorder.served({ url: '/v?timeout=10s', port: 9443, at, body, answer, ms });
  }
  const { records } = await readRecording(directory);
  expect(records.map(({ at }) => Date.parse(at))).toEqual(Array.from({ length: 500 }, (_, at) => at));
  expect(events.map((event) => event.type === 'review' && event.webhook)).toEqual(Array(500).fill('v.kb.io'));
});

it('does not hold more than its share of memory', async () => {
  const events: DevloopEvent[] = [];
  const body = Buffer.alloc(2 ** 20, ' ');
  const ms = { held: 0, controller: 1, total: 1, budget: 10_000 };
  {
    await using recorder = newRecorder(events);
    for (let at = 0; at < 40; at++)
      recorder.served({ url: '/v', port: 9443, at, body, answer: undefined, ms });
  }
  expect(events.filter(({ type }) => type === 'review')).toHaveLength(32);
  expect(events.filter(({ type }) => type === 'warning')).toHaveLength(1);
});

it('tells soon of a single review that is too large to wait for its record', async () => {
  const events: DevloopEvent[] = [];
  const body = Buffer.alloc(33 * 2 ** 20, ' ');
  const ms = { held: 0, controller: 1, total: 1, budget: 10_000 };
  await using recorder = newRecorder(events);
  recorder.served({ url: '/v', port: 9443, at: 0, body, answer: undefined, ms });
  await eventually(async () => expect(events).toMatchObject([{ type: 'warning' }]));
});

it('can be read as soon as it has caught up, however much was answered a moment ago', async () => {
  const events: DevloopEvent[] = [];
  const request = { uid: 'u', object: { items: Array.from({ length: 300 }, (_, index) => ({ index })) } };
  const body = Buffer.from(JSON.stringify({ kind: 'AdmissionReview', request }));
  const answer = { status: 200, headers: [], body: Buffer.from('{"response":{"allowed":true}}') };
  const ms = { held: 0, controller: 1, total: 1, budget: 10_000 };
  await using recorder = newRecorder(events);
  for (let at = 0; at < 200; at++) recorder.served({ url: '/v', port: 9443, at, body, answer, ms });
  await recorder.caughtUp();
  expect((await readRecording(directory)).records).toHaveLength(200);
});

it('names the build that had answered when the answer was out, and none for what devloop answered', async () => {
  const events: DevloopEvent[] = [];
  const answering = createAnswering();
  const body = Buffer.from(JSON.stringify({ kind: 'AdmissionReview', request: { uid: 'u' } }));
  const answer = { status: 200, headers: [], body: Buffer.from('{"response":{"allowed":true}}') };
  const review = {
    url: '/v',
    port: 9443,
    at: 0,
    body,
    answer,
    ms: { held: 0, controller: 1, total: 1, budget: 10_000 },
  };
  {
    await using recorder = newRecorder(events, answering);
    answering.observe({ type: 'controller.started', pid: 1, command: [], build: 'one' });
    recorder.served(review);
    recorder.served({ ...review, answer: { ...answer, body: '{}' } });
    answering.observe({ type: 'build.failed', ms: 1, output: '' });
    recorder.served(review);
    answering.observe({ type: 'build.done', ms: 1 });
    const next = { pid: 2, command: [], build: 'two', package: './cmd/shop' };
    answering.observe({ type: 'controller.started', ...next });
    recorder.served(review);
  }
  const { records } = await readRecording(directory);
  expect(records.map((one) => one.package)).toEqual([undefined, undefined, undefined, './cmd/shop']);
  expect(records.map(({ build, isOldBuild }) => [build, isOldBuild])).toEqual([
    ['one', undefined],
    [undefined, undefined],
    ['one', true],
    ['two', undefined],
  ]);
});

it('shows a late answer beside that of devloop, whether the review was recorded before it or not', async () => {
  const events: DevloopEvent[] = [];
  const request = { uid: 'u', kind: { group: '', version: 'v1', kind: 'Secret' }, name: 's' };
  const body = Buffer.from(JSON.stringify({ kind: 'AdmissionReview', request }));
  const ms = { held: 0, controller: 29_500, total: 29_500, budget: 30_000 };
  const own = { status: 503, headers: [], body: '{"message":"devloop: too late"}' };
  const patch = Buffer.from('[{"op":"add","path":"/data/key","value":"c2VjcmV0"}]').toString('base64');
  const response = { uid: 'u', allowed: true, patch, patchType: 'JSONPatch' };
  const answer = { status: 200, headers: [], body: Buffer.from(JSON.stringify({ response })) };
  const review = (at: number) => ({ url: '/v', port: 9443, at, body, answer: own, ms });
  const [first, second, unknown] = [review(1), review(2), review(3)];
  {
    await using recorder = newRecorder(events);
    recorder.served(first);
    await eventually(async () => expect(events).toHaveLength(1));
    recorder.served(second);
    for (const one of [first, second, unknown]) recorder.late({ review: one, answer, totalMs: 41_000.4 });
  }
  const late = { verdict: 'allowed', patch: [expect.stringContaining('data.key')], totalMs: 41_000 };
  expect(events.filter(({ type }) => type === 'review.late')).toEqual([
    { type: 'review.late', id: 'r-000001', late },
    { type: 'review.late', id: 'r-000002', late },
  ]);
  const { records, unread } = await readRecording(directory);
  expect([records.length, unread]).toEqual([2, 0]);
  for (const record of records) {
    expect(record).toMatchObject({ verdict: 'answered-by-devloop', late });
    expect(sectionsOf(record).at(-1)).toMatchObject({ title: 'what the controller answered later' });
  }
  const text = await readFile(recordingFiles(directory).newer, 'utf8');
  expect(text).not.toContain('c2VjcmV0');
});

it('knows the reviews without an answer, until they are recorded: none is missing, and none is there twice', async () => {
  const events: DevloopEvent[] = [];
  const request = {
    ...{ uid: 'u', operation: 'CREATE', name: 'token-1', namespace: 'shop' },
    ...{ kind: { group: '', version: 'v1', kind: 'Pod' }, userInfo: { username: 'ann' } },
  };
  const body = Buffer.from(JSON.stringify({ kind: 'AdmissionReview', request }));
  const now = performance.timeOrigin + performance.now();
  const arrived = { url: '/v?timeout=10s', port: 9443, at: now - 3_200, body, waitsFor: 'release' } as const;
  await using recorder = newRecorder(events);
  recorder.name([{ path: '/v', name: 'v.kb.io' }]);
  const waits = recorder.arrived(arrived);
  // Nobody could read that it is waiting.
  const isShort = recorder.arrived({ ...arrived, at: now });
  const { reviews, last } = recorder.waiting();
  isShort[Symbol.dispose]();
  expect([reviews.length, last]).toEqual([1, '']);
  expect(reviews[0]).toMatchObject({
    ...{ webhook: 'v.kb.io', user: 'ann', operation: 'CREATE', waitsFor: 'release' },
    object: { namespace: 'shop', name: 'token-1' },
  });
  expect(reviews[0]!.ms).toEqual({ total: expect.closeTo(3_200, -3), budget: 10_000 });
  expect(reviews[0]).not.toHaveProperty('id');
  const answer = { status: 200, headers: [], body: Buffer.from('{"response":{"allowed":true}}') };
  const ms = { held: 3_200, controller: 1, total: 3_201, budget: 10_000 };
  waits[Symbol.dispose]();
  recorder.served({ ...arrived, answer, ms });
  expect(recorder.waiting().reviews).toMatchObject([{ webhook: 'v.kb.io', ms: { total: 3_201 } }]);
  await eventually(async () => expect(events).toHaveLength(1));
  expect(recorder.waiting()).toEqual({ reviews: [], last: 'r-000001' });
});

it('a saved set that is deleted while somebody follows it has no reviews', async () => {
  expect(await readRecords(join(directory, 'deleted.ndjson'))).toMatchObject({ records: [], unread: 0 });
});

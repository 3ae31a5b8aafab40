import { afterAll, beforeAll, expect, it } from 'vitest';
import { differences } from '../../../src/reviews/compare.ts';
import type { ReviewRecord } from '../../../src/reviews/record.ts';
import { type Replayed, type ReplayOptions, replay } from '../../../src/reviews/replay.ts';
import { recordOf } from '../../../src/reviews/summarize.ts';
import { freePort } from '../../support/free-port.ts';
import { Controller } from '../gateway/support.ts';

const NEVER = new AbortController().signal;
const ms = { held: 0, controller: 1, total: 1, budget: 10_000 };

/** What the controller got, and how it answers to the object's name. */
const got: { uid: string; dryRun?: boolean; object: { metadata: { name: string } } }[] = [];
let say: (name: string) => object;
const controller = new Controller(async (incoming, response) => {
  const { request } = JSON.parse(Buffer.concat(await incoming.toArray()).toString());
  got.push(request);
  const { uid, object } = request;
  response.end(JSON.stringify({ kind: 'AdmissionReview', response: { uid, ...say(object.metadata.name) } }));
});

beforeAll(() => controller.start());
afterAll(() => controller.stop());

function recorded(name: string, answer: object, more: Partial<ReviewRecord> = {}): ReviewRecord {
  const object = { kind: 'Shop', apiVersion: 'v1', metadata: { name }, spec: { password: 'hunter2' } };
  const body = Buffer.from(JSON.stringify({ kind: 'AdmissionReview', request: { uid: 'u', object } }));
  const bytes = Buffer.from(JSON.stringify({ kind: 'AdmissionReview', response: { uid: 'u', ...answer } }));
  const served = { url: '/w', port: controller.port, at: 0, body, ms };
  const record = recordOf(
    { ...served, answer: { status: 200, headers: [], body: bytes } },
    { id: name, calls: [] },
  );
  return { ...record, ...more };
}

async function replayed(records: ReviewRecord[], more: Partial<ReplayOptions> = {}) {
  const found: Replayed[] = [];
  const onReplayed = (one: Replayed) => void found.push(one);
  const options = { paths: [], withSideEffects: false, atOnce: 3, signal: NEVER, onReplayed, ...more };
  return { count: await replay(records, options), found };
}

it('asks where the controller listens instead of the port for which a review was recorded', async () => {
  const moved = new Map([[9443, controller.port]]);
  say = () => ({ allowed: true });
  const { count } = await replayed([recorded('shop', { allowed: true }, { port: 9443 })], { moved });
  expect(count).toEqual({ replayed: 1, changed: 0, leftOut: 0 });
});

it('asks again, with a new uid and as a dry run, and reports in order which answers differ', async () => {
  got.length = 0;
  const names = Array.from({ length: 20 }, (_, index) => `shop-${index}`);
  const records = names.map((name) => recorded(name, { allowed: true }));
  say = (name) => ({ allowed: name !== 'shop-7' });
  const { count, found } = await replayed(records);
  expect(count).toEqual({ replayed: 20, changed: 1, leftOut: 0 });
  expect(found.map(({ before }) => before.id)).toEqual(names);
  expect(found[7]).toMatchObject({
    result: 'changed',
    differences: [{ title: 'verdict', text: 'allowed -> denied' }],
  });
  expect(got).toHaveLength(20);
  expect(new Set(got.map(({ uid }) => uid)).size).toBe(20);
  expect(got.map(({ uid }) => uid)).not.toContain('u');
  expect(got.every(({ dryRun }) => dryRun === true)).toBe(true);
});

it('redacts an answer as the recorded one was, so a secret is neither shown nor a difference', async () => {
  const patch = (value: string) =>
    Buffer.from(JSON.stringify([{ op: 'add', path: '/spec/token', value }])).toString('base64');
  say = () => ({ allowed: true, patch: patch('random-2') });
  const { found } = await replayed([recorded('a', { allowed: true, patch: patch('random-1') })]);
  expect(found).toMatchObject([{ result: 'same', before: { redacted: expect.any(Number) } }]);
  expect(JSON.stringify(found)).not.toMatch(/hunter2|random-/);
});

it.each<[string, Partial<ReviewRecord>]>([
  ['was not kept', { request: undefined }],
  ['no controller answered it', { verdict: 'answered-by-devloop' }],
  ['declares side effects', { sideEffects: 'Some' }],
])('leaves out a review: %s', async (why, more) => {
  say = () => ({ allowed: true });
  const record = recorded('a', { allowed: true }, more);
  expect(await replayed([record])).toMatchObject({
    count: { replayed: 0, leftOut: 1 },
    found: [{ result: 'left-out', why: expect.stringContaining(why) }],
  });
  if (more.sideEffects === undefined) return;
  expect((await replayed([record], { withSideEffects: true })).count).toMatchObject({ replayed: 1 });
});

it('a controller that answers nothing is a changed answer; an abort ends the replay', async () => {
  const record = recorded('a', { allowed: true });
  const { found } = await replayed([record], { moved: new Map([[controller.port, await freePort()]]) });
  expect(found).toMatchObject([{ result: 'changed', after: { verdict: 'unanswered' } }]);
  got.length = 0;
  await expect(replayed([record], { signal: AbortSignal.abort(new Error('over')) })).rejects.toThrow('over');
  expect(got).toEqual([]);
  expect(differences(record, record)).toEqual([]);
});

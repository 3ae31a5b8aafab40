import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { jsonPath } from '../../../src/config/json-path.ts';
import type { ServedReview } from '../../../src/gateway/hooks.ts';
import { changesIn } from '../../../src/report/review-words.ts';
import { createAnswering } from '../../../src/reviews/answering-build.ts';
import { differences } from '../../../src/reviews/compare.ts';
import { patched, textDiff, yaml } from '../../../src/reviews/objects.ts';
import type { ReviewRecord } from '../../../src/reviews/record.ts';
import { Recorder } from '../../../src/reviews/recorder.ts';
import { createRecording } from '../../../src/reviews/recording.ts';
import { redact, TooMuchWork } from '../../../src/reviews/redact.ts';
import { recordOf } from '../../../src/reviews/summarize.ts';

// What is not bounded takes minutes here, or all memory, and so exceeds the limit for a test.

const ms = { held: 0, controller: 7, total: 8, budget: 10_000 };

function served(object: object, operations: object[] = []): ServedReview {
  const patch = Buffer.from(JSON.stringify(operations)).toString('base64');
  const response = { uid: 'u', allowed: true, patchType: 'JSONPatch', patch };
  const review = { kind: 'AdmissionReview', request: { uid: 'u', name: 'web', object } };
  const answer = { status: 200, headers: [], body: Buffer.from(JSON.stringify({ response })) };
  return { url: '/v', port: 9443, at: 0, body: Buffer.from(JSON.stringify(review)), answer, ms };
}

function record(review: ServedReview): ReviewRecord {
  return recordOf(review, { id: 'r-000001', calls: [] });
}

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

it.each([
  [15_000, 3_600, false],
  [7_000, 3_400, true],
])('a patch of variables of a long list reads the list once (%i entries)', (entries, operations, isKept) => {
  const env = times(entries, (index) => ({ name: `V${index}` }));
  const patch = times(operations, (index) => ({ op: 'add', path: `/spec/env/${index}/value`, value: 'y' }));
  const recorded = record(served({ spec: { env } }, patch));
  expect(recorded).toMatchObject({ verdict: 'allowed', object: { name: 'web' }, changes: operations });
  expect(recorded.patch).toHaveLength(100);
  expect(changesIn(recorded)).toBe(
    `${times(4, (index) => `+spec.env[${index}].value=y`).join(' ')} and ${operations - 4} more`,
  );
  expect(recorded.request !== undefined).toBe(isKept);
});

it('a review of very many small values is kept as its line', () => {
  const recorded = record(served({ spec: { zeros: times(100_000, () => 0) } }));
  expect(recorded).toMatchObject({ verdict: 'allowed', size: { request: expect.any(Number) } });
  expect([recorded.request, recorded.response]).toEqual([undefined, undefined]);
});

describe('a text', () => {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const certificate = `-----BEGIN CERTIFICATE-----\n${base64('x')}\n-----END CERTIFICATE-----`;
  const around = (make: (text: string) => string, least: number) => {
    let text = 'x';
    while (text.length < least) text = make(text);
    return text;
  };
  const fields = (length: number) => (field: string) => `x: 1\n${field.repeat(length / field.length)}`;
  /** The work that reading it once takes. */
  const once = (text: string) => text.length / 20 + 10;

  it.each([
    ['values that are not closed', fields(2 ** 18)('{token = {name: x, ')],
    ['references', fields(2 ** 18)('{token: {name: x, ')],
    ['lists', fields(2 ** 18)('{token: [{name: ')],
    ['base64 with a certificate', around((inner) => base64(`abc${certificate} ${inner}`), 2 ** 18)],
    ['base64', around((inner) => base64(`some more text ${inner}`), 2 ** 18)],
  ])('that nests %s is read a few times, and each of them is counted', (_, text) => {
    for (const value of [{ text }, { message: text }]) {
      redact(value, { mostWork: 6 * once(text) });
      expect(() => redact(value, { mostWork: once(text) })).toThrow(TooMuchWork);
    }
  });

  it('with a reference to a secret shows it only if it has nothing else', () => {
    const config = 'a: 1\nb: {token: {name: x, at: {name: y}}}\nc: {token: {name: x, my.token = hunter2}}';
    const { value } = redact({ config: config.replace('at: {name: y}', 'path: {name: y}') });
    expect(value.config).toContain('{name: x, path: {name: y}}');
    expect(value.config).not.toContain('hunter2');
  });
});

it('a path of the user is followed once, however often its names are nested', () => {
  const path = jsonPath('..a..a..a..a..secret-free')!;
  const nested = JSON.parse(`${'{"a":'.repeat(190)}1${'}'.repeat(190)}`);
  expect(redact({ apiVersion: 'v1', kind: 'A', nested }, { paths: [path] }).count).toBe(0);
});

it('a patch that copies again and again is not applied', () => {
  const copies = times(40, (index) => ({ op: 'copy', from: '/spec', path: `/spec/${index}` }));
  expect(patched({ spec: { a: 1 } }, copies)).toMatchObject({ failed: expect.stringContaining('copies') });
  expect(patched({ spec: { a: 1 } }, copies.slice(0, 1))).toEqual({
    object: { spec: { a: 1, 0: { a: 1 } } },
  });
});

it('objects that differ everywhere are not compared line by line', () => {
  const lines = (word: string) => times(30_000, (index) => `${word}${index}`).join('\n');
  expect(textDiff(lines('a'), lines('b'))).not.toContain('\n');
  expect(textDiff(lines('a'), `${lines('a')}\nb`)).toContain('\n+b');
});

it('an answer with very many warnings is compared', () => {
  const recorded = record(served({}));
  const withWarnings = (word: string) => ({
    ...recorded,
    response: { response: { allowed: true, warnings: times(60_000, (index) => `${word}${index}`) } },
  });
  expect(differences(withWarnings('a'), withWarnings('b'))).toMatchObject([{ title: 'warnings' }]);
});

it('a large object is laid out as JSON, which is YAML', () => {
  expect(yaml({ a: [1], managedFields: [] })).toBe('a:\n  - 1');
  const large = { a: times(20_000, String), managedFields: [1] };
  expect(JSON.parse(yaml(large))).toEqual({ a: large.a });
});

it('reviews that are recorded at the end leave time for other work', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-bounds-'));
  try {
    let recorded = 0;
    const seen = new Set<number>();
    const recorder = new Recorder(createRecording(directory), { answering: createAnswering() }, () => {
      recorded += 1;
    });
    const review = served({ items: times(10_000, (index) => ({ index })) });
    for (let at = 0; at < 40; at++) recorder.served({ ...review, at });
    let isEnded = false;
    const ended = recorder[Symbol.asyncDispose]().then(() => (isEnded = true));
    while (!isEnded) {
      seen.add(recorded);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await ended;
    expect(recorded).toBe(40);
    expect(seen.size).toBeGreaterThan(3);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

it('of very large reviews that wait, some are read at a time', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-bounds-'));
  try {
    const recorder = new Recorder(createRecording(directory), { answering: createAnswering() }, () => {});
    const body = served({ text: 'x'.repeat(2 ** 20) }).body;
    for (let at = 0; at < 5; at++)
      recorder.arrived({ url: '/v', port: 9443, at, body: Buffer.from(body), waitsFor: 'release' });
    const kinds = () => recorder.waiting().reviews.map(({ kind }) => kind);
    expect(new Set(kinds())).toEqual(new Set(['admission', 'unreadable']));
    kinds();
    expect(kinds()).toEqual(times(5, () => 'admission'));
    await recorder[Symbol.asyncDispose]();
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

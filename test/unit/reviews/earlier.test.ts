import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { detailOf } from '../../../src/page/detail.ts';
import { changesBefore, isOfSameObject, wasChangedBy } from '../../../src/reviews/earlier.ts';
import type { ReviewRecord } from '../../../src/reviews/record.ts';
import { createRecording } from '../../../src/reviews/recording.ts';
import { findEarlier } from '../../../src/reviews/scan.ts';
import { sectionsOf } from '../../../src/reviews/show.ts';
import { reviewOf } from '../../support/session-facts.ts';

const object = { namespace: 'default', name: 'web' };
const sent = { kind: 'Application', metadata: { ...object }, spec: { image: 'a' } };
const mutated = { ...sent, spec: { ...sent.spec, replicas: 1 } };

/** A review by the mutating webhook, which adds `spec.replicas` where it is missing. */
function mutating(number: number, of: { spec: object } = sent): ReviewRecord {
  const adds = !('replicas' in of.spec);
  const patch = adds ? [{ op: 'add', path: '/spec/replicas', value: 1 }] : [];
  return {
    ...{
      v: 1,
      ...reviewOf(number, { webhook: 'mapplication.kb.io', object }),
      request: { request: { object: of } },
    },
    ...{ response: { response: { allowed: true, patch } }, ...(adds ? { patch: ['+spec.replicas=1'] } : {}) },
  };
}

/** A review by the validating webhook. By then, the API server has set fields of its own. */
function validating(number: number, of: object): ReviewRecord {
  const metadata = { ...object, uid: 'u', generation: 1, managedFields: [{ manager: 'kubectl' }] };
  return {
    ...{
      v: 1,
      ...reviewOf(number, { object }),
      request: { request: { object: { ...of, metadata, status: {} } } },
    },
    response: { response: { allowed: true } },
  };
}

function earlierOf(record: ReviewRecord, records: ReviewRecord[]): string | undefined {
  const ofSame = records.filter((one) => isOfSameObject(one, record));
  return changesBefore(ofSame).find((one) => wasChangedBy(one, record))?.id;
}

it('finds the review whose webhook changed the object', () => {
  const record = validating(2, mutated);
  expect(earlierOf(record, [mutating(1), record])).toBe('r-000001');
  expect(sectionsOf(record, 'r-000001').map(({ title }) => title)).toEqual([
    'object, with the changes of review r-000001',
    'answer',
  ]);
  expect(detailOf(record, 'r-000001').parts).toContainEqual(
    expect.objectContaining({ name: 'object', note: 'Includes the changes made in review r-000001.' }),
  );
});

it.each<[string, ReviewRecord[], ReviewRecord]>([
  ['of another object', [{ ...mutating(1), object: { ...object, name: 'other' } }], validating(2, mutated)],
  ['that is later', [mutating(3)], validating(2, mutated)],
  [
    'whose patch leaves another object',
    [mutating(1)],
    validating(2, { ...mutated, spec: { image: 'b', replicas: 1 } }),
  ],
  [
    'of an earlier request: the client itself now sends what it added',
    [mutating(1), mutating(2, mutated)],
    validating(3, mutated),
  ],
])('finds none %s', (_, records, record) => {
  expect(earlierOf(record, [...records, record])).toBeUndefined();
});

it('finds it in the recording of a session', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'reviews-'));
  const recording = createRecording(directory);
  const record = validating(2, mutated);
  for (const one of [mutating(1), record, mutating(3), validating(4, sent)]) recording.add(one);
  await recording.flush();
  expect(await findEarlier(directory, record)).toBe('r-000001');
  expect(await findEarlier(directory, validating(4, sent))).toBeUndefined();
  await rm(directory, { recursive: true });
});

import { expect, it } from 'vitest';
import { detailOf } from '../../../src/page/detail.ts';
import type { ReviewRecord } from '../../../src/reviews/record.ts';
import { reviewOf } from '../../support/session-facts.ts';

const recordOf = (response: object): ReviewRecord => ({
  v: 1,
  ...reviewOf(1),
  request: { request: { uid: 'u', operation: 'CREATE', object: { spec: { image: 'nginx' } } } },
  response: { response: { uid: 'u', ...response } },
});

it('the response has the patch, decoded', () => {
  const patch = [{ op: 'add', path: '/spec/replicas', value: 1 }];
  const { parts } = detailOf(recordOf({ allowed: true, patchType: 'JSONPatch', patch }));
  const { text } = parts.find(({ name }) => name === 'response')!;
  expect(text).toContain('path: /spec/replicas');
  expect(text).not.toContain('uid');
});

it('the fields that a refusal names are listed, and what is none is left out', () => {
  const causes = [
    { reason: 'FieldValueRequired', field: 'spec.image', message: 'Required value' },
    { field: 'spec.port' },
    ...[{ message: 'no field' }, null, 'text', { field: 1 }],
  ];
  const status = { code: 422, details: { causes } };
  expect(detailOf(recordOf({ allowed: false, status })).causes).toEqual([
    { field: 'spec.image', message: 'Required value' },
    { field: 'spec.port', message: '' },
  ]);
  for (const details of [undefined, null, { causes: 'none' }, 'text'])
    expect(detailOf(recordOf({ allowed: false, status: { details } })).causes).toEqual([]);
});

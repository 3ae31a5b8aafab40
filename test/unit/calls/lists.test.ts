import { expect, test } from 'vitest';
import { apiCall } from '../../../src/api-proxy/api-call.ts';
import type { ServedCall } from '../../../src/api-proxy/observed.ts';
import { callRecord } from '../../../src/calls/call-record.ts';
import { Lists } from '../../../src/calls/lists.ts';
import { Versions } from '../../../src/calls/versions.ts';

const START = Date.parse('2026-01-01T10:00:00Z');
const MIB = 2 ** 20;

function told(
  url: string,
  answers: Partial<ServedCall['answer'] & object>[],
  more: Partial<ServedCall> = {},
) {
  const lists = new Lists();
  return answers.flatMap((answer, index) => {
    const call = apiCall({
      method: 'GET',
      url: index > 0 && url.includes('limit') ? `${url}&continue=x` : url,
    });
    const served: ServedCall = {
      ...{ call, at: START + index * 60_000, headers: {}, ms: 100, ...more },
      answer: { status: 200, headers: {}, bytes: 0, ...answer },
    };
    const { record } = callRecord(served, { id: 'c-000001', versions: new Versions(), paths: [] });
    return lists.called(served, record);
  });
}

test('a list of everything that is larger than 10 MiB is told, and again after ten minutes with how often', () => {
  const large = { bytes: 2 * MIB, unpackedBytes: 11 * MIB };
  expect(told('/api/v1/secrets?resourceVersion=0', Array(12).fill(large))).toMatchObject([
    {
      code: 'calls.large-list',
      values: { group: '', resource: 'secrets', bytes: 11 * MIB, hasObjects: true, times: 1 },
    },
    { values: { times: 10, seconds: 600 } },
  ]);
});

test('the pages of a list count together, and the next list begins anew', () => {
  const page = { bytes: 4 * MIB };
  const pages = '/apis/apps/v1/deployments?limit=500';
  expect(told(pages, [page, page, page])).toMatchObject([{ values: { bytes: 12 * MIB } }]);
  expect(told('/apis/apps/v1/deployments', [page, page, page])).toEqual([]);
});

test('a watch that begins with all objects is such a list', () => {
  const answer = [{ bytes: 12 * MIB, events: 3_001 }];
  const watch = '/api/v1/configmaps?watch=true&sendInitialEvents=true';
  expect(told(watch, answer, { isOpen: true })).toMatchObject([
    { values: { bytes: 12 * MIB, items: 3_000 } },
  ]);
  // What has passed when it ends is no list.
  expect(told(watch, answer)).toEqual([]);
  const accept = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';
  expect(told(watch, answer, { isOpen: true, headers: { accept } })).toMatchObject([
    { values: { hasObjects: false } },
  ]);
});

test.each([
  ['/api/v1/secrets', 9],
  ['/api/v1/namespaces/shop/secrets', 11],
  ['/api/v1/secrets?labelSelector=app%3Dshop', 11],
  ['/api/v1/secrets?fieldSelector=type%3DOpaque', 11],
  ['/apis/shop.example.com/v1/orders', 11],
  ['/api/v1/secrets?watch=true', 11],
])('nothing is told of %s with %i MiB', (url, mebibytes) => {
  expect(told(url, [{ bytes: mebibytes * MIB }], { isOpen: true })).toEqual([]);
});

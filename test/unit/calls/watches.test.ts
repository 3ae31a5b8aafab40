import { expect, test } from 'vitest';
import { apiCall } from '../../../src/api-proxy/api-call.ts';
import type { ServedCall } from '../../../src/api-proxy/observed.ts';
import { callRecord } from '../../../src/calls/call-record.ts';
import { Versions } from '../../../src/calls/versions.ts';
import { Watches } from '../../../src/calls/watches.ts';

const START = Date.parse('2026-01-01T10:00:00Z');
const PODS = '/api/v1/namespaces/shop/pods?watch=true';
const EXPIRED = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version: 1 (9)' };

interface Watch {
  /** When it begins, in ms. */
  at: number;
  ms: number;
  url?: string;
  status?: number;
  isCut?: true;
  error?: object;
  isOwn?: true;
  faults?: string[];
}

function told(all: Watch[]) {
  const watches = new Watches();
  return all.flatMap(({ at, ms, url = PODS, status = 200, isCut, error, isOwn, faults }) => {
    const call = apiCall({ method: 'GET', url });
    if (error) watches.watched({ type: 'ERROR', object: error }, call);
    const answer = { status, headers: {}, bytes: 0, ...(isCut && { isCut }) };
    const served: ServedCall = {
      call,
      at: START + at,
      headers: {},
      ms,
      answer,
      ...(isOwn && { isOwn }),
      ...(faults && { faults }),
    };
    const watchError = watches.errorOf(call);
    const context = { id: 'c-000001', versions: new Versions(), paths: [], watchError };
    return watches.called(served, callRecord(served, context).record);
  });
}

/** One after the other. */
function again(times: number, more: Omit<Watch, 'at'>, everyMs = 10_000): Watch[] {
  return Array.from({ length: times }, (_, index) => ({ at: index * everyMs, ...more }));
}

test('a watch that ends with an error and begins again five times is told once, with the error', () => {
  const [one, ...more] = told(again(9, { ms: 30, isCut: true, error: EXPIRED }));
  expect(one).toMatchObject({
    code: 'calls.watch-restarts',
    values: {
      ...{ group: '', resource: 'pods', namespace: 'shop', times: 5, seconds: 40 },
      ...{ code: 410, cause: EXPIRED.message },
    },
  });
  expect(more).toEqual([]);
});

test('so is one that just ends, and one that cannot be opened', () => {
  expect(told(again(5, { ms: 30 }))).toMatchObject([{ values: { code: 200, cause: undefined } }]);
  expect(told(again(5, { ms: 3, status: 405 }))).toMatchObject([{ values: { code: 405 } }]);
});

const TEN_SECONDS = `${PODS}&timeoutSeconds=10`;

test.each<[string, Watch[]]>([
  ['it is seldom', again(30, { ms: 30 }, 31_000)],
  ['it lasts as long as watches do', again(30, { ms: 25_000 }, 25_000)],
  ['it lasts as long as it was asked for', again(30, { ms: 10_002, url: TEN_SECONDS })],
  ['the connection was lost, or the controller ended it', again(30, { ms: 30, isCut: true })],
  ['RBAC refuses it', again(30, { ms: 3, status: 403 })],
  ['the API server has too much to do', again(30, { ms: 3, status: 429 })],
  ['the API server is away', again(30, { ms: 3, status: 503, isOwn: true })],
  ['a fault has asked for it', again(30, { ms: 30, error: EXPIRED, faults: ['410 watch pods'] })],
  ['several end together', again(30, { ms: 15_000 }, 100)],
  [
    'it is one of several',
    again(12, { ms: 30 }).map((one, index) => ({ ...one, url: `${PODS}&labelSelector=a%3D${index % 3}` })),
  ],
])('nothing is told of a watch that begins again if %s', (_, watches) => {
  expect(told(watches)).toEqual([]);
});

test('what follows the absence of the API server does not count', () => {
  const away = { at: 0, ms: 3, status: 503, isOwn: true } as const;
  expect(told([away, ...again(5, { ms: 30 })])).toEqual([]);
  expect(told([{ ...away, at: -70_000 }, ...again(5, { ms: 30 })])).toHaveLength(1);
});

import { expect, test } from 'vitest';
import { heldBackMs, Throttled } from '../../../src/calls/throttled.ts';

const START = Date.parse('2026-01-01T10:00:00Z');
const REASON = 'client-side throttling, not priority and fairness';
const URL = 'https://localhost:40123/apis/apps/v1/namespaces/shop/deployments/web';
const TEXT = `Waited for 1.049s due to ${REASON}, request: GET:${URL}`;
const LINE = `"Waited before sending request" delay="1.049s" reason="${REASON}" verb="GET" URL="${URL}"`;

test.each<[string, string, number]>([
  ['klog', `I0101 10:00:01.049123   41872 request.go:752] ${TEXT}`, 1_049],
  [
    'klog, as before Kubernetes 1.21',
    `I0101 10:00:01 1 request.go:655] Throttling request took 1.2s, request: GET:${URL}`,
    1_200,
  ],
  ['klog, with values', `I0101 10:00:01.049123   41872 request.go:752] ${LINE}`, 1_049],
  [
    'zap for people',
    `2026-01-01T10:00:01Z\tINFO\tWaited before sending request\t{"controller": "shop", "delay": "1m2.5s", "reason": "${REASON}", "verb": "GET"}`,
    62_500,
  ],
  [
    'zap as JSON',
    `{"level":"info","msg":"Waited before sending request","delay":1.25,"reason":"${REASON}","verb":"GET"}`,
    1_250,
  ],
  [
    'slog',
    `time=2026-01-01T10:00:01Z level=INFO msg="Waited before sending request" delay=853.5ms reason="${REASON}"`,
    853.5,
  ],
  [
    'slog as JSON',
    `{"level":"INFO","msg":"Waited before sending request","delay":1049000000,"reason":"${REASON}"}`,
    1_049,
  ],
])('a line of %s says how long a call was held back', (_, line, ms) => {
  expect(heldBackMs(line)).toBeCloseTo(ms);
});

test.each([
  'INFO  Reconciled  {"delay": "5s"}',
  '"Waited before sending request" delay="2s" reason="retries: 1, retry-after: 1s" verb="GET"',
  `the reason was ${REASON}`,
])('%s is no such line', (line) => {
  expect(heldBackMs(line)).toBeUndefined();
});

function said(times: number, everyMs: number, line = TEXT) {
  const throttled = new Throttled();
  for (const [verb, resource, count] of [
    ['get', 'deployments', 30],
    ['list', 'pods', 20],
    ['watch', 'pods', 90],
    ['update', 'shops/status', 10],
    ['get', 'secrets', 1],
  ] as const)
    for (let index = 0; index < count; index++)
      throttled.called({ id: 'c-000001', at: new Date(START).toISOString(), verb, resource, ms: 1 });
  return Array.from({ length: times }, (_, index) => throttled.logged(line, START + index * everyMs)).flat();
}

test('calls that are held back for twenty seconds are told once, with the most frequent ones', () => {
  const told = said(9, 10_000);
  expect(told).toMatchObject([
    {
      code: 'calls.throttled',
      values: {
        ...{ times: 3, seconds: 20, longestSeconds: 1 },
        calls: [
          { call: 'get deployments', times: 30 },
          { call: 'list pods', times: 20 },
          { call: 'update shops/status', times: 10 },
        ],
      },
    },
  ]);
});

test.each<[string, number, number, string]>([
  ['many calls wait at once', 100, 10, TEXT],
  ['it is seldom', 9, 40_000, TEXT],
  ['the waits are short', 9, 10_000, TEXT.replace('1.049s', '853ms')],
])('nothing is told if %s', (_, times, everyMs, line) => {
  expect(said(times, everyMs, line)).toEqual([]);
});

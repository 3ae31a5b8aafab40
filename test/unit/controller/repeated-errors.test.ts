import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { errorIn, noticeRepeatedErrors } from '../../../src/controller/repeated-errors.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { eventually } from '../../support/eventually.ts';
import { reviewOf } from '../../support/session-facts.ts';

const CAUSE = 'pods "shop-1" not found';

test.each([
  [
    'zap for people',
    `2026-11-22T10:00:00Z\tERROR\tReconciler error\t{"controller": "shop", "error": "pods \\"shop-1\\" not found"}`,
  ],
  [
    'zap as JSON',
    `{"level":"error","ts":"2026","msg":"Reconciler error","controller":"shop","error":"pods \\"shop-1\\" not found"}`,
  ],
  [
    'klog',
    `E1122 10:00:00.123456   4711 controller.go:324] "Reconciler error" err="pods \\"shop-1\\" not found" controller="shop"`,
  ],
  ['logrus', `time="2026" level=error msg="Reconciler error" error="pods \\"shop-1\\" not found"`],
  ['slog', `time=2026 level=ERROR msg="Reconciler error" err="pods \\"shop-1\\" not found"`],
  ['zerolog as JSON', `{"level":"error","error":"pods \\"shop-1\\" not found","message":"Reconciler error"}`],
])('an error is read from a line of %s', (_, line) => {
  expect(errorIn(line)?.text).toBe(`Reconciler error: ${CAUSE}`);
});

test.each([
  ['without an error', '2026-11-22T10:00:00Z\tINFO\tStarting\t{"error": "none"}'],
  [
    'of a stack trace',
    'sigs.k8s.io/controller-runtime/pkg/internal/controller.(*Controller).reconcileHandler',
  ],
  ['without a cause', 'E1122 10:00:00.123456   4711 main.go:1] "something"'],
  [
    'of two writers that met',
    'time=1 level=error msg="Reconciler error" error="the object has been modified; please apply"',
  ],
])('a line %s is none', (_, line) => {
  expect(errorIn(line)).toBeUndefined();
});

test('names, numbers and ids do not make another error of it', () => {
  const key = (text: string) => errorIn(`level=error msg=m error="${text}"`)?.key;
  expect(key('pods \\"a\\" not found, id 0f1e2d3c, 3 tries')).toBe(
    key('pods \\"b\\" not found, id 9a8b7c6d, 12 tries'),
  );
  expect(key('pods not found')).not.toBe(key('pods forbidden'));
});

test('the same error again and again is one warning with its count; others are none', async () => {
  const events: DevloopEvent[] = [];
  const { signal } = new AbortController();
  const errors = noticeRepeatedErrors({ emit: (event) => void events.push(event), signal }, 1);
  onTestFinished(() => errors[Symbol.dispose]());
  const log = (cause: string) =>
    errors.observe({
      type: 'controller.output',
      stream: 'stderr',
      line: `level=error msg=m error="${cause}"`,
    });
  errors.observe({ type: 'controller.started', pid: 1, command: [], build: '' });
  for (const cause of ['one', 'two', 'same', 'same', 'same', 'same']) log(cause);
  await eventually(async () => expect(events).toHaveLength(1));
  expect(events).toMatchObject([
    { code: 'controller.repeats-error', values: { times: 4, logged: 'm: same' } },
  ]);
  errors.observe({ type: 'controller.started', pid: 2, command: [], build: '' });
  for (const cause of ['same', 'same', 'same', 'other', 'other', 'other']) log(cause);
  await eventually(async () => expect(events).toHaveLength(2));
  expect(events[1]).toMatchObject({ message: expect.stringMatching(/ 3 times .* m: other/) });
});

test('the count begins anew with each start, and ends half a minute after it', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const events: DevloopEvent[] = [];
  const { signal } = new AbortController();
  using errors = noticeRepeatedErrors({ emit: (event) => void events.push(event), signal });
  const start = () => errors.observe({ type: 'controller.started', pid: 1, command: [], build: '' });
  const line = 'level=error msg=m error="same"';
  const log = (times: number): void => {
    for (let time = 0; time < times; time++)
      errors.observe({ type: 'controller.output', stream: 'stderr', line });
    vi.advanceTimersByTime(10_000);
  };
  start();
  log(2);
  start();
  log(2);
  vi.advanceTimersByTime(25_000);
  log(3);
  expect(events).toEqual([]);
  start();
  log(3);
  expect(events).toMatchObject([{ type: 'warning' }]);
});

test('an error that comes with each refused review is reported only when it comes more often', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const events: DevloopEvent[] = [];
  const { signal } = new AbortController();
  using errors = noticeRepeatedErrors({ emit: (event) => void events.push(event), signal });
  const log = (): void =>
    errors.observe({ type: 'controller.output', stream: 'stderr', line: 'level=error msg=m error="same"' });
  errors.observe({ type: 'controller.started', pid: 1, command: [], build: '' });
  for (let times = 0; times < 4; times++) {
    log();
    errors.observe({ type: 'review', ...reviewOf(times, { verdict: 'denied' }) });
  }
  vi.advanceTimersByTime(5_000);
  expect(events).toEqual([]);
  log();
  vi.advanceTimersByTime(5_000);
  expect(events).toMatchObject([{ code: 'controller.repeats-error', values: { times: 5 } }]);
});

test('what is logged while the session ends is none', async () => {
  const events: DevloopEvent[] = [];
  const ending = new AbortController();
  const emit = (event: DevloopEvent): void => void events.push(event);
  using errors = noticeRepeatedErrors({ emit, signal: ending.signal }, 1);
  ending.abort();
  for (let times = 0; times < 4; times++)
    errors.observe({ type: 'controller.output', stream: 'stderr', line: 'level=error msg=m error="same"' });
  await pause(20);
  expect(events).toEqual([]);
});

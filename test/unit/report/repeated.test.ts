import { expect, onTestFinished, test, vi } from 'vitest';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { createHumanPrinter } from '../../../src/report/human.ts';
import { Loops } from '../../../src/report/loops.ts';
import { notice } from '../../../src/report/notices/catalogue.ts';
import { partly } from '../../support/partly.ts';

type Of<Type extends DevloopEvent['type']> = Extract<DevloopEvent, { type: Type }>;

const MAIN = { kind: 'Shop', namespace: 'shop', name: 'main' };
const WEB = { kind: 'Deployment', namespace: 'shop', name: 'web' };
const STARTED: DevloopEvent = { type: 'controller.started', pid: 7, command: [], build: 'b2' };

function reconcile(number: number, name = MAIN.name): Of<'reconcile'> {
  const write = { id: 'c-1', verb: 'update', ...MAIN, name, code: 200, changes: [`~status.seen=${number}`] };
  return {
    ...{
      type: 'reconcile',
      id: `k-${number}`,
      reconcile: 'r',
      at: '2026-01-01T00:00:00Z',
      controller: 'shop',
    },
    ...{ ...MAIN, name, result: 'success', calls: [write], after: [], ms: 3 },
    counts: { writes: 1, reads: 0, failed: 0 },
  };
}

function call(number: number): Of<'call'> {
  const changes = [`~status.seen=${number}`];
  const of = {
    id: `c-${number}`,
    at: '2026-01-01T00:00:00Z',
    verb: 'update',
    ...WEB,
    resource: 'deployments',
  };
  return { type: 'call', ...of, code: 200, isWrite: true, changes, ms: 3 };
}

const often = { times: 420, seconds: 3, last: 'k-000012' };
const warned = (object = MAIN) =>
  notice('reconciles.wake-themselves', { controller: 'shop', object, ...often, fields: [] });

function terminal() {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  let written = '';
  const write = (text: string): void => {
    written += text;
  };
  const stream = { write };
  const printer = createHumanPrinter({ stderr: stream, stdout: stream, env: {}, verbosity: 'normal' });
  const rows = (...events: DevloopEvent[]): string[] => {
    written = '';
    for (const event of events) printer.print(event);
    return written.split('\n').filter(Boolean);
  };
  const after = (ms: number): string[] => {
    written = '';
    vi.advanceTimersByTime(ms);
    return written.split('\n').filter(Boolean);
  };
  return { rows, after };
}

const many = <Event>(event: (number: number) => Event, count = 100): Event[] =>
  Array.from({ length: count }, (_, number) => event(number));

test('reconciles and calls that write other values of the same fields are counted each second', () => {
  const { rows, after } = terminal();
  expect(rows(...many(reconcile), ...many(call))).toHaveLength(10);
  const [ofReconciles, ofCalls, ...none] = after(1_000);
  expect(ofReconciles).toMatch(/^reconciled .* \+95 {2}Shop {2}shop$/);
  expect(ofCalls).toMatch(/^wrote .* \+95 {2}update Deployment in shop$/);
  expect(none).toEqual([]);
});

test('a loop that was warned of is only counted, twice a minute, until it ends or the program is a new one', () => {
  const { rows, after } = terminal();
  rows(...many(reconcile));
  expect(rows(warned(), ...many(reconcile))).toHaveLength(2);
  // What was counted before the warning.
  expect(after(1_000)).toHaveLength(1);
  expect(after(28_000)).toEqual([]);
  const [counted] = after(2_000);
  expect(counted).toMatch(/^reconciled .* Shop shop\/main {2}\+100 in its loop {2}k-99$/);
  expect(rows(reconcile(1, 'other'))).toHaveLength(1);
  expect(rows(reconcile(1))).toEqual([]);
  after(90_000);
  expect(rows(reconcile(1))).toHaveLength(1);
  rows(warned());
  expect(rows(reconcile(1))).toEqual([]);
  expect(rows(STARTED, reconcile(1))).toHaveLength(1);
});

test('a loop is known by its object, and by all that its reconciles write', () => {
  const loops = new Loops(() => 0);
  const values = { object: WEB, ...often };
  loops.observe(notice('calls.unchanged', { ...values, verb: 'update' }), undefined);
  loops.observe(notice('calls.unchanged', { ...values, controller: 'shop', verb: 'update' }), undefined);
  loops.observe(notice('calls.conflicts', { ...values, verb: 'u', cause: '' }), 'shop/a');
  expect(loops.of(call(1), undefined)).toBeDefined();
  expect(loops.of(call(1), 'shop/b')).toBeUndefined();
  const [own] = reconcile(1).calls;
  const web = { ...own!, ...WEB };
  expect(loops.of({ ...reconcile(1), calls: [web] }, undefined)).toBeDefined();
  expect(loops.of({ ...reconcile(1), calls: [web, own!] }, undefined)).toBeUndefined();
  expect(loops.of({ ...reconcile(1), calls: [] }, undefined)).toBeUndefined();
  loops.observe(STARTED, 'shop/a');
  expect(loops.of(call(1), 'shop/a')).toBeUndefined();
  expect(loops.of(call(1), undefined)).toBeDefined();
});

test('the warning says how often each second, and names the commands that show more', () => {
  expect(warned()).toMatchObject({
    message: expect.stringContaining('420 times in 3 s (140 a second)'),
    hint: expect.stringMatching(/`devloop reconciles k-000012` .*`devloop timeline Shop\/main -n shop`/),
  });
  const { message } = partly<{ message: string }>(
    notice('calls.unchanged', { object: WEB, verb: 'apply', times: 10, seconds: 54, last: 'c-000001' }),
  );
  expect(message).not.toContain('a second');
});

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { notice } from '../../../src/report/notices/catalogue.ts';
import { breakSilence } from '../../../src/report/silence.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function start() {
  const printed: DevloopEvent[] = [];
  const printer = breakSilence({ print: (event) => void printed.push(event), close() {} });
  const waits = (): string[] =>
    printed.splice(0).flatMap((event) => (event.type === 'waiting' ? [`${event.for} ${event.seconds}`] : []));
  return { printer, waits };
}

it('says after five seconds of silence what devloop is at, and for how long', () => {
  const { printer, waits } = start();
  // The last output came right after a look.
  vi.advanceTimersByTime(1_001);
  printer.print(notice('login.output', { line: 'x' }));
  vi.advanceTimersByTime(3_900);
  expect(waits()).toEqual([]);
  vi.advanceTimersByTime(1_100);
  expect(waits()).toEqual([expect.stringMatching(/cluster.* 6$/)]);
  vi.advanceTimersByTime(1_000);
  expect(waits()).toEqual([expect.stringMatching(/cluster.* 7$/)]);
  printer.print({ type: 'build.started', reason: [] });
  vi.advanceTimersByTime(7_000);
  expect(waits().at(-1)).toBe('the build of the controller 7');
  printer.close();
});

it('says nothing while other lines are printed, and nothing once devloop waits for the user', () => {
  const { printer, waits } = start();
  for (let at = 0; at < 10; at++) {
    printer.print(notice('login.output', { line: 'x' }));
    vi.advanceTimersByTime(3_000);
  }
  expect(waits()).toEqual([]);
  printer.print({ type: 'session.ready', session: 'a', ms: 1 });
  vi.advanceTimersByTime(60_000);
  expect(waits()).toEqual([]);
  printer.print({ type: 'build.started', reason: ['a.go'] });
  vi.advanceTimersByTime(6_000);
  expect(waits()).toHaveLength(3);
  printer.print({ type: 'build.failed', ms: 1, output: '' });
  vi.advanceTimersByTime(60_000);
  expect(waits()).toEqual([]);
  printer.print({ type: 'build.done', ms: 1 });
  vi.advanceTimersByTime(6_000);
  expect(waits().at(-1)).toBe('the new build to serve 6');
  // Nothing is started if the program is the same.
  printer.print({ type: 'build.done', ms: 1, identical: true });
  printer.print(notice('build.identical', {}));
  vi.advanceTimersByTime(60_000);
  expect(waits()).toEqual([]);
  printer.print({ type: 'session.stopping', reason: 'SIGINT' });
  vi.advanceTimersByTime(6_000);
  expect(waits().at(-1)).toBe('everything to be restored 6');
  printer.close();
});

it('stops waiting for a new build when its controller answers again, or does not run', () => {
  const { printer, waits } = start();
  printer.print({ type: 'session.ready', session: 'a', ms: 1 });
  for (const end of [
    { type: 'controller.ready', pid: 7, ms: 5 },
    { type: 'controller.down', why: 'it exited' },
  ] as const) {
    printer.print({ type: 'build.done', ms: 1 });
    vi.advanceTimersByTime(6_000);
    expect(waits()).not.toEqual([]);
    printer.print(end);
    vi.advanceTimersByTime(60_000);
    expect(waits()).toEqual([]);
  }
  printer.close();
});

it('goes on waiting for the take-over when the first controller answers', () => {
  const { printer, waits } = start();
  printer.print({ type: 'build.done', ms: 1 });
  printer.print({ type: 'controller.ready', pid: 7, ms: 5 });
  vi.advanceTimersByTime(6_000);
  expect(waits().at(-1)).toBe('the take-over 6');
  printer.close();
});

it('waits for the plan, where nothing is taken over', () => {
  const { printer, waits } = start();
  printer.print(notice('plan.limits', { isIsolated: true }));
  printer.print({ type: 'build.done', ms: 1 });
  vi.advanceTimersByTime(6_000);
  expect(waits().at(-1)).toBe('the plan 6');
  printer.close();
});

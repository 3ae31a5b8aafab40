import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Backlog } from '../../src/backlog.ts';

const ARRIVING = 400;
/** How long work has taken, in milliseconds. */
let worked = 0;

beforeEach(() => {
  worked = 0;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const passed = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => passed() + worked);
  vi.spyOn(process, 'threadCpuUsage').mockImplementation((before) => ({
    user: 1_000 * worked - (before?.user ?? 0),
    system: 0,
  }));
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** How many items are worked on while they arrive every five milliseconds, if each takes a fifth of that. */
async function doneWhileArriving(mostWaitMs?: number): Promise<{ inTime: number; all: number }> {
  worked = 0;
  const backlog = new Backlog<number>({
    mostBytes: ARRIVING,
    ...(mostWaitMs !== undefined && { mostWaitMs }),
    sizeOf: () => 1,
    work() {
      worked += 1;
    },
    onSlice() {},
  });
  for (let pushed = 0; pushed < ARRIVING; pushed++) {
    backlog.push(pushed);
    vi.advanceTimersByTime(5);
  }
  const inTime = worked;
  await backlog[Symbol.asyncDispose]();
  return { inTime, all: worked };
}

test('work takes a twentieth of the time, or half if it would come late, and all of it is done', async () => {
  const patient = await doneWhileArriving();
  expect(patient.inTime).toBeLessThan(ARRIVING / 2);
  expect(patient.all).toBe(ARRIVING);
  const prompt = await doneWhileArriving(100);
  expect(prompt.inTime).toBeGreaterThan(ARRIVING / 2);
  expect(prompt.all).toBe(ARRIVING);
});

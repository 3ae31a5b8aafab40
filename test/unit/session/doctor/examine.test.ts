import { describe, expect, it } from 'vitest';
import { DevloopError } from '../../../../src/errors.ts';
import type { DevloopEvent } from '../../../../src/report/events.ts';
import {
  type Check,
  type DoctorRun,
  NotChecked,
  NothingToCheck,
  needed,
} from '../../../../src/session/doctor/check.ts';
import { conclude, examine, type NamedFinding } from '../../../../src/session/doctor/examine.ts';

function run(checks: Check[], signal = new AbortController().signal) {
  const events: DevloopEvent[] = [];
  const io = { emit: (event: DevloopEvent) => void events.push(event), signal, env: {}, cwd: '/' };
  return { events, answered: examine(checks, { io } as DoctorRun) };
}

const good = (name: string): Check => ({
  name,
  limitSeconds: 5,
  run: async () => ({ verdict: 'ok', answer: 'so it is' }),
});
const failing = (name: string, error: unknown, rest: Partial<Check> = {}): Check => ({
  name,
  limitSeconds: 5,
  run: () => Promise.reject(error),
  ...rest,
});
const silent = (name: string, rest: Partial<Check> = {}): Check => ({
  name,
  limitSeconds: 0.05,
  run: (_, signal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  ...rest,
});
const refusal = new DevloopError('certificate.not-found', 'There is none.', { hint: 'make one' });

describe('checks', () => {
  it('report in the order of the list, whichever is known first', async () => {
    const second = Promise.withResolvers<void>();
    const first: Check = {
      ...good('first'),
      async run() {
        await second.promise;
        return { verdict: 'ok', answer: 'later' };
      },
    };
    const { events, answered } = run([
      first,
      {
        ...good('second'),
        async run() {
          second.resolve();
          return [
            { verdict: 'ok', answer: 'a' },
            { verdict: 'warn', answer: 'b' },
          ];
        },
      },
    ]);
    expect((await answered).map(({ check, answer }) => [check, answer])).toEqual([
      ['first', 'later'],
      ['second', 'a'],
      ['second', 'b'],
    ]);
    expect(events.map((event) => event.type)).toEqual(['finding', 'finding', 'finding']);
  });

  it('continue when one fails, which is `unknown` if `up` does not need it', async () => {
    const { answered, events } = run([
      failing('a', refusal),
      failing('b', refusal, { optional: true }),
      good('c'),
    ]);
    expect(await answered).toEqual([
      {
        check: 'a',
        verdict: 'fail',
        answer: 'There is none.',
        hint: 'make one',
        code: 'certificate.not-found',
      },
      { check: 'b', verdict: 'unknown', answer: 'There is none.', hint: 'make one' },
      { check: 'c', verdict: 'ok', answer: 'so it is' },
    ]);
    expect(events[0]).toEqual({
      type: 'finding',
      check: 'a',
      verdict: 'fail',
      answer: 'There is none.',
      hint: 'make one',
    });
  });

  it('say why they were not made', async () => {
    const earlier = Promise.reject(refusal);
    const later: Check = {
      ...good('later'),
      run: async () => await needed(earlier, 'no operator was found'),
    };
    expect(await run([later, failing('b', new NotChecked('it rains'))]).answered).toMatchObject([
      { verdict: 'unknown', answer: expect.stringMatching(/: no operator was found$/) },
      { verdict: 'unknown', answer: 'not checked: it rains' },
    ]);
  });

  it('leave it to one finding to say that there is no cluster, or no checkout', async () => {
    const missing = Promise.reject(new DevloopError('target.no-operator', 'There is none.'));
    const later: Check = {
      ...good('later'),
      run: async () => await needed(missing, 'no operator was found'),
    };
    const { answered } = run([failing('a', new NothingToCheck('no cluster')), later, good('c')]);
    expect((await answered).map(({ check }) => check)).toEqual(['c']);
  });

  it('do not exceed their time limit', async () => {
    const { answered } = run([
      silent('a'),
      silent('b', { timeoutCode: 'route.none' }),
      silent('c', { optional: true }),
    ]);
    expect(await answered).toMatchObject([
      { verdict: 'fail', answer: 'no answer within 0.05 s', code: 'cluster.unreachable' },
      { verdict: 'fail', code: 'route.none' },
      { verdict: 'unknown' },
    ]);
  });

  it('have removed what they created before an interrupted examination ends', async () => {
    const leaving = new AbortController();
    let left = 1;
    const probing: Check = {
      ...good('probing'),
      limitSeconds: 60,
      async run(_, signal) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        await new Promise((resolve) => setTimeout(resolve, 20));
        left = 0;
        throw signal.reason;
      },
    };
    const { answered, events } = run([silent('slow', { limitSeconds: 60 }), probing], leaving.signal);
    leaving.abort(new Error('Ctrl-C'));
    await expect(answered).rejects.toThrow('Ctrl-C');
    expect({ left, events }).toEqual({ left: 0, events: [] });
  });

  it('do not hide a bug', async () => {
    await expect(run([failing('a', new TypeError('oops'))]).answered).rejects.toThrow('oops');
  });
});

describe('the conclusion', () => {
  const finding = (
    check: string,
    verdict: NamedFinding['verdict'],
    rest: Partial<NamedFinding> = {},
  ): NamedFinding => ({
    check,
    verdict,
    answer: '',
    ...rest,
  });

  it('is that `up` would work, with the number of warnings', () => {
    const works = (warnings: number) => ({ type: 'note', code: 'doctor.works', values: { warnings } });
    expect(conclude([finding('a', 'ok'), finding('b', 'unknown')])).toMatchObject(works(0));
    expect(conclude([finding('a', 'warn')])).toMatchObject(works(1));
    expect(conclude([finding('a', 'warn'), finding('b', 'warn')])).toMatchObject(works(2));
  });

  it('is the first problem, with its exit code; its hint stands at its finding', () => {
    const findings = [
      finding('port', 'fail', { code: 'port.in-use', hint: 'kill 7' }),
      finding('route direct', 'fail', { code: 'route.none' }),
      finding('owners', 'warn'),
    ];
    expect(() => conclude(findings)).toThrow(
      expect.objectContaining({
        code: 'port.in-use',
        exitCode: 6,
        hint: undefined,
        isSummary: true,
        message: expect.stringContaining('2 problems: port, route direct.'),
      }),
    );
  });
});

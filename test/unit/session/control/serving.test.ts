import { expect, it } from 'vitest';
import { step } from '../../../../src/controller/restart.ts';
import { type RestartEvent, type State, servingState } from '../../../../src/controller/restart-state.ts';
import { type Standing, standingOf } from '../../../../src/controller/standing.ts';
import type { DevloopEvent } from '../../../../src/report/events.ts';
import type { SessionPhase } from '../../../../src/report/session-state.ts';
import { nothingYet } from '../../../../src/session/context/observed.ts';
import { type ServingParts, untilServing, type Waiting } from '../../../../src/session/control/serving.ts';

const PROBLEM = { error: 'controller.exited', message: 'The controller exited with code 1' };
const at = 100;
const CHANGED: RestartEvent = { is: 'changed', files: ['a.go'], at };
const BUILT = { is: 'built', build: 1, ms: 1, identical: false, asWorked: false, at } as const;
const FAILED = { is: 'build-failed', build: 1, ms: 1, output: 'a.go:3: oops', at } as const;
const ENDED = { is: 'exited', run: 0, code: 0, problem: PROBLEM, at } as const;
const READY = { is: 'ready', run: 1, pid: 1, at } as const;
const CRASHED = { is: 'exited', run: 1, code: 1, problem: PROBLEM, at } as const;
const RESTARTED = [CHANGED, BUILT, ENDED];

function after(events: readonly RestartEvent[], options = {}): Standing {
  const last = events.reduce<State>((state, event) => step(state, event).state, servingState(0, options));
  return standingOf(last);
}

it.each<[string, readonly RestartEvent[], Standing['is']]>([
  ['at first', [], 'serving'],
  ['during a build', [CHANGED], 'pending'],
  ['while the old process ends', [CHANGED, BUILT], 'pending'],
  ['while the new one starts', RESTARTED, 'pending'],
  ['when it is ready', [...RESTARTED, READY], 'serving'],
  ['after an identical build', [CHANGED, { ...BUILT, identical: true }], 'serving'],
  ['after a build that failed, although the last one serves', [CHANGED, FAILED], 'failed'],
  ['during the next build', [CHANGED, FAILED, CHANGED], 'pending'],
  ['when the program of a new build crashes', [...RESTARTED, CRASHED], 'failed'],
  ['when it crashes later', [...RESTARTED, READY, CRASHED], 'failed'],
  ['when it is started again', [...RESTARTED, READY, CRASHED, { is: 'back-off-over', at }], 'pending'],
])('the newest source %s: %s', (_when, events, is) => {
  expect(after(events)).toMatchObject({ is });
});

it('a new program that does not start has failed, also while and after the last one that worked is started again', () => {
  const reverted = [...RESTARTED, CRASHED];
  const failed = { is: 'failed', problem: PROBLEM };
  expect(after(reverted, { keepsWorked: true })).toEqual(failed);
  expect(after([...reverted, { ...READY, run: 2 }], { keepsWorked: true })).toEqual(failed);
});

function session(
  parts: { phase?: SessionPhase; ignored?: string[]; standing?: Standing; waits?: Waiting } = {},
) {
  const changing = { phase: 'serving' as SessionPhase, ignored: [] as string[], ...parts };
  const calls: string[] = [];
  const standing = (): Standing => changing.standing ?? { is: 'serving' };
  const facts = { now: nothingYet([]) };
  const supervisor = {
    standing,
    ignoredFiles: () => changing.ignored,
    async look() {
      calls.push('look');
    },
  };
  const all: ServingParts = {
    ...{ session: 's', facts },
    phase: () => changing.phase,
    waits: () => changing.waits,
    supervisor: () => supervisor,
  };
  return { changing, calls, all, facts };
}

const NEVER = new AbortController().signal;
const within = (limitMs: number) => ({ limitMs, signal: NEVER, emit: () => {} });
const PENDING = { is: 'pending', for: 'the build' } as const;

it('waits for a session that is starting, has it look at its sources, and waits for what that brings', async () => {
  const { changing, calls, all } = session({ phase: 'starting' });
  const waiting = untilServing(all, within(5_000)).then(() => calls.push('serves'));
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(calls).toEqual([]);
  Object.assign(changing, { phase: 'serving', standing: PENDING });
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(calls).toEqual(['look']);
  changing.standing = { is: 'serving' };
  await waiting;
  expect(calls).toEqual(['look', 'serves']);
});

it.each<[string, Parameters<typeof session>[0], string]>([
  [
    'a build that failed',
    { standing: { is: 'failed', problem: { error: 'controller.build-failed', message: 'x' } } },
    'controller.build-failed',
  ],
  [
    'a first build that failed',
    { phase: 'starting', standing: { is: 'failed', problem: PROBLEM } },
    'controller.exited',
  ],
  ['a session that is ending', { phase: 'ending' }, 'session.not-ready'],
  ['files that are ignored', { ignored: ['a.go'] }, 'session.not-ready'],
  ['what takes too long', { standing: PENDING }, 'wait.timeout'],
  ['a session that never gets ready', { phase: 'starting', standing: PENDING }, 'wait.timeout'],
])('ends with the error of %s', async (_what, parts, code) => {
  await expect(untilServing(session(parts).all, within(20))).rejects.toMatchObject({ code });
});

it('waits for a controller that does not answer, and a route that is lost, and refuses a session without a controller', async () => {
  const silent = session();
  silent.facts.now = { ...silent.facts.now, silence: 'the controller does not answer yet' };
  await expect(untilServing(silent.all, within(20))).rejects.toThrow('does not answer yet');
  const lost = session();
  lost.facts.now = { ...lost.facts.now, loss: { problem: 'the ssh route is lost', unverified: [] } };
  await expect(untilServing(lost.all, within(20))).rejects.toThrow('route is lost');
  const without = { ...session().all, supervisor: () => undefined };
  await expect(untilServing(without, within(20))).rejects.toMatchObject({ code: 'session.not-ready' });
});

it('ends when the one who waits is gone', async () => {
  const { all } = session({ standing: PENDING });
  const signal = AbortSignal.timeout(20);
  await expect(untilServing(all, { ...within(60_000), signal })).rejects.toThrow();
});

it('says what it waits for: what the session itself says, with the progress of its build, or else what is missing', async () => {
  const said: DevloopEvent[] = [];
  const { changing, all } = session({
    phase: 'starting',
    standing: { is: 'pending', for: 'the first start' },
  });
  const ended = new AbortController();
  const waiting = untilServing(all, {
    ...within(60_000),
    signal: ended.signal,
    emit: (event) => void said.push(event),
  });
  const first = { type: 'waiting', for: 'the session to be ready' };
  await expect.poll(() => said, { timeout: 10_000 }).toMatchObject([first]);
  const progress = { step: 'compiling', what: 'k8s.io/api/core/v1', done: 12 } as const;
  changing.waits = { type: 'waiting', for: 'the build', seconds: 2, progress };
  await expect.poll(() => said.at(-1), { timeout: 10_000 }).toEqual(changing.waits);
  ended.abort();
  await expect(waiting).rejects.toThrow();
});

import { expect, test } from 'vitest';
import { step } from '../../../src/controller/restart.ts';
import {
  type Effect,
  isSettled,
  type RestartEvent,
  type Run,
  type State,
  servingState,
  unstartedState,
} from '../../../src/controller/restart-state.ts';

const PROBLEM = { message: 'problem' };
const RUNS = {
  backingOff: { is: 'backing-off', failures: 1 },
  starting: { is: 'starting', since: 5, failures: 0 },
  startingAgain: { is: 'starting', since: undefined, failures: 1 },
  serving: { is: 'serving', readyAt: 0, failures: 0 },
  ending: { is: 'stopping', since: 5, old: 'ending', next: 'newest' },
  answering: { is: 'stopping', since: 5, old: 'answering', next: 'newest' },
  silent: { is: 'stopping', since: 5, old: 'silent', next: 'newest' },
} satisfies Record<string, Run>;
const EVENTS = {
  built: { is: 'built', build: 2, ms: 1, identical: false, asWorked: false, at: 10 },
  identical: { is: 'built', build: 2, ms: 1, identical: true, asWorked: false, at: 10 },
  failed: { is: 'build-failed', build: 2, ms: 1, output: 'x', at: 10 },
  ready: { is: 'ready', run: 3, pid: 1, at: 10 },
  late: { is: 'not-ready', run: 3, problem: PROBLEM, at: 10 },
  ended: { is: 'exited', run: 3, code: 0, problem: PROBLEM, at: 10 },
  crashed: { is: 'exited', run: 3, code: 1, problem: PROBLEM, at: 10 },
  answers: { is: 'lingers', run: 3, answers: true, at: 10 },
  silent: { is: 'lingers', run: 3, answers: false, at: 10 },
  halfWaited: { is: 'half-waited', at: 10 },
} satisfies Record<string, RestartEvent>;

function stateWith(run: Run, build: State['build']): State {
  const held = isHeld(run);
  return {
    build,
    run,
    lastBuild: 2,
    lastRun: 3,
    heldAt: held ? 7 : undefined,
    startedAt: 0,
    echo: undefined,
    isBuilt: true,
    keepsWorked: false,
    newest: 2,
    worked: 2,
    runs: 'newest',
  };
}

function nameOf(run: Run): string {
  return run.is === 'stopping' && run.old !== 'ending' ? `stopping (${run.old})` : run.is;
}

function isHeld(run: Run): boolean {
  return run.is === 'starting' || (run.is === 'stopping' && run.old !== 'answering');
}

function names(effects: Effect[]): string {
  return effects.map(nameOfEffect).join(', ');
}

function nameOfEffect(effect: Effect): string {
  if (effect.do === 'emit') return `emit ${effect.event.type}`;
  return effect.do === 'start' && effect.program === 'worked' ? 'start worked' : effect.do;
}

test.each<[string, Run, RestartEvent, string, string]>([
  [
    'a new build replaces the controller that serves',
    RUNS.serving,
    EVENTS.built,
    'stopping',
    'hold, emit build.done, stop',
  ],
  [
    'an identical build does not restart the controller',
    RUNS.serving,
    EVENTS.identical,
    'serving',
    'emit build.done, emit note',
  ],
  [
    'a failed build leaves the controller running',
    RUNS.serving,
    EVENTS.failed,
    'serving',
    'emit build.failed',
  ],
  ['the new build starts when the old process has exited', RUNS.ending, EVENTS.ended, 'starting', 'start'],
  [
    'when the new one is ready, requests are released',
    RUNS.starting,
    EVENTS.ready,
    'serving',
    'emit controller.replaced, release',
  ],
  [
    'when the new one crashes, requests fail fast until the next change',
    RUNS.starting,
    EVENTS.crashed,
    'down',
    'emit warning, down, release',
  ],
  [
    'when the new one is late, requests are released',
    RUNS.starting,
    EVENTS.late,
    'serving',
    'emit warning, release',
  ],
  ['exit code 0 restarts at once', RUNS.serving, EVENTS.ended, 'starting', 'hold, emit note, start'],
  [
    'a program that is not the manager is not started again before a change',
    RUNS.serving,
    { is: 'exited', run: 3, code: 0, isWrong: true, problem: PROBLEM, at: 10 },
    'down',
    'emit warning, down',
  ],
  ['a crash backs off', RUNS.serving, EVENTS.crashed, 'backing-off', 'emit warning, down, back-off'],
  [
    'a build ends the back-off, even an identical one',
    RUNS.backingOff,
    EVENTS.identical,
    'starting',
    'hold, emit build.done, end-back-off, start',
  ],
  [
    'an old process that goes on answering gets the requests',
    RUNS.ending,
    EVENTS.answers,
    'stopping (answering)',
    'emit note, release',
  ],
  [
    'requests wait as soon as it no longer answers',
    RUNS.answering,
    EVENTS.silent,
    'stopping (silent)',
    'hold',
  ],
  [
    'one that answers no more is killed when half of the time of a request is over',
    RUNS.silent,
    EVENTS.halfWaited,
    'stopping',
    'emit note, kill',
  ],
  ['one that was told to end a moment ago is not', RUNS.ending, EVENTS.halfWaited, 'stopping', ''],
  [
    'the new build starts when the one that answered has ended',
    RUNS.answering,
    EVENTS.ended,
    'starting',
    'hold, start',
  ],
])('%s', (_, run, event, after, effects) => {
  const next = step(stateWith(run, { is: 'running', since: 5 }), event);
  expect(nameOf(next.state.run)).toBe(after);
  expect(names(next.effects)).toBe(effects);
});

/** Build 2 is new, and build 1 worked. */
const UNPROVEN = { keepsWorked: true, newest: 2, worked: 1 } as const;

test.each<[string, Run, RestartEvent, string]>([
  ['exits with an error', RUNS.starting, EVENTS.crashed, 'emit warning, emit build.reverted, start worked'],
  [
    'ends although it is to run on',
    RUNS.starting,
    { is: 'exited', run: 3, code: 0, isWrong: true, problem: PROBLEM, at: 10 },
    'emit warning, emit build.reverted, start worked',
  ],
  [
    'exits with an error when it was started again',
    RUNS.startingAgain,
    EVENTS.crashed,
    'emit warning, emit build.reverted, start worked',
  ],
  ['asks for a restart', RUNS.startingAgain, EVENTS.ended, 'emit warning, down, back-off, release'],
  ['does not become ready', RUNS.starting, EVENTS.late, 'emit warning, emit build.reverted, stop'],
  ['is ready', RUNS.starting, EVENTS.ready, 'keep, emit controller.replaced, release'],
  [
    'could not be started, because its port was taken',
    RUNS.starting,
    { is: 'exited', run: 3, code: null, neverBegan: true, problem: PROBLEM, at: 10 },
    'emit warning, down, release',
  ],
])('in place of one that worked, a new program that %s', (_, run, event, effects) => {
  const next = step({ ...stateWith(run, { is: 'idle' }), ...UNPROVEN }, event);
  expect(names(next.effects)).toBe(effects);
});

test('the program that worked is started once for a build, and runs until the next build', () => {
  const before: State = { ...stateWith(RUNS.starting, { is: 'idle' }), ...UNPROVEN };
  const late = step(before, { is: 'not-ready', run: 3, problem: PROBLEM, at: 10 });
  const reverted = step(late.state, { is: 'exited', run: 3, code: 0, problem: PROBLEM, at: 11 });
  expect(names(reverted.effects)).toBe('start worked');
  // It does not start either, so the build is not the cause.
  const failed = step(reverted.state, { is: 'exited', run: 4, code: 1, problem: PROBLEM, at: 12 });
  expect(names(failed.effects)).toBe('emit warning, down, release');
  // It serves, and is not called new.
  const serves = step(reverted.state, { is: 'ready', run: 4, pid: 1, at: 12 });
  expect(names(serves.effects)).toBe('release');
  // It crashes later.
  const crashed = step(serves.state, { is: 'exited', run: 4, code: 1, problem: PROBLEM, at: 13 });
  expect(names(step(crashed.state, { is: 'back-off-over', at: 14 }).effects)).toBe('hold, start worked');
  const saved = step(serves.state, { is: 'changed', files: ['a.go'], at: 100 });
  const built = step(saved.state, {
    is: 'built',
    build: 3,
    ms: 1,
    identical: false,
    asWorked: false,
    at: 110,
  });
  const stopped = step(built.state, { is: 'exited', run: 4, code: 0, problem: PROBLEM, at: 111 });
  expect(names(stopped.effects)).toBe('start');
  const ready = step(stopped.state, { is: 'ready', run: 5, pid: 1, at: 120 });
  expect(names(ready.effects)).toBe('keep, emit controller.replaced, release');
  expect(ready.effects[1]).toMatchObject({ event: { ms: 20 } });
});

test('a build that is the program that worked has nothing to be replaced by', () => {
  const before: State = { ...stateWith(RUNS.ending, { is: 'running', since: 5 }), ...UNPROVEN };
  const built = step(before, { is: 'built', build: 2, ms: 1, identical: false, asWorked: true, at: 10 });
  const started = step(built.state, { is: 'exited', run: 3, code: 0, problem: PROBLEM, at: 11 });
  const failed = step(started.state, { is: 'exited', run: 4, code: 1, problem: PROBLEM, at: 12 });
  expect(names(failed.effects)).toBe('emit warning, down, release');
});

test('a program that is not built is only restarted, and nothing is said about builds', () => {
  const changed = step(servingState(0, { isBuilt: false }), { is: 'changed', files: ['main.py'], at: 1 });
  const built = step(changed.state, {
    is: 'built',
    build: 1,
    ms: 0,
    identical: false,
    asWorked: false,
    at: 2,
  });
  expect(names([changed, built].flatMap(({ effects }) => effects))).toBe(
    'emit controller.restarting, build, hold, stop',
  );
});

test('after a first build that failed, the first program that builds ends the wait, and nothing is started', () => {
  const failed = step(unstartedState(0), { is: 'changed', files: ['a.go'], at: 1 });
  expect(isSettled(failed.state)).toBe(false);
  const again = step(failed.state, { is: 'build-failed', build: 1, ms: 1, output: 'x', at: 2 });
  expect(isSettled(again.state)).toBe(false);
  const saved = step(again.state, { is: 'changed', files: ['a.go'], at: 3 });
  const built = step(saved.state, { is: 'built', build: 2, ms: 1, identical: false, asWorked: false, at: 4 });
  expect(names([failed, again, saved, built].flatMap(({ effects }) => effects))).toBe(
    'emit build.started, build, emit build.failed, emit build.started, build, emit build.done',
  );
  expect(isSettled(built.state)).toBe(true);
  const left = step(saved.state, { is: 'leave', at: 4 });
  expect(names(left.effects)).toBe('abort-build');
  expect(isSettled(left.state)).toBe(true);
});

test('the newest change wins, and the time counts from the first one', () => {
  let next = step(servingState(0), { is: 'changed', files: ['a.go'], at: 100 });
  next = step(next.state, { is: 'changed', files: ['b.go'], at: 200 });
  expect(names(next.effects)).toBe('abort-build, emit build.started, build');
  expect(
    step(next.state, { is: 'built', build: 1, ms: 1, identical: false, asWorked: false, at: 210 }).effects,
  ).toEqual([]);
  next = step(next.state, { is: 'built', build: 2, ms: 1, identical: false, asWorked: false, at: 300 });
  next = step(next.state, { is: 'exited', run: 0, code: 0, problem: PROBLEM, at: 310 });
  next = step(next.state, { is: 'ready', run: 1, pid: 9, at: 350 });
  expect(next.effects[0]).toEqual({
    do: 'emit',
    event: { type: 'controller.replaced', pid: 9, ms: 250, heldMs: 50 },
  });
});

test('the back-off doubles up to 30 s and starts again at 1 s after a minute of service', () => {
  let state = servingState(0);
  const waits: number[] = [];
  for (let round = 0; round < 7; round++) {
    const crashed = step(state, { is: 'exited', run: state.lastRun, code: 1, problem: PROBLEM, at: round });
    waits.push(...crashed.effects.flatMap((effect) => (effect.do === 'back-off' ? [effect.ms] : [])));
    const started = step(crashed.state, { is: 'back-off-over', at: round });
    state = step(started.state, { is: 'ready', run: started.state.lastRun, pid: 1, at: round }).state;
  }
  expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  const late = step(state, { is: 'exited', run: state.lastRun, code: 1, problem: PROBLEM, at: 70_000 });
  expect(late.effects.at(-1)).toEqual({ do: 'back-off', ms: 1000 });
});

/** A program that changes `own` 200 ms after each start. Returns what the restarts wait for. */
function restartsFor(changes: { files: string[]; afterMs: number }[]): number[] {
  let state = servingState(0);
  let now = 0;
  const delays: number[] = [];
  const happen = (event: Omit<RestartEvent, 'at'>): void => {
    const { state: next, effects } = step(state, { ...event, at: now } as RestartEvent);
    state = next;
    for (const effect of effects) if (effect.do === 'delay-build') delays.push(effect.ms);
  };
  for (const { files, afterMs } of changes) {
    now = state.startedAt + afterMs;
    const before = delays.length;
    happen({ is: 'changed', files } as never);
    if (delays.length === before) delays.push(0);
    if (state.build.is === 'delayed') happen({ is: 'delay-over' });
    happen({ is: 'built', build: state.lastBuild, ms: 1, identical: false, asWorked: false } as never);
    happen({ is: 'exited', run: state.lastRun, code: 0, problem: PROBLEM } as never);
    happen({ is: 'ready', run: state.lastRun, pid: 1 } as never);
  }
  return delays;
}

test("restarts for the program's own writes wait ever longer; those for a person's changes do not wait", () => {
  const own = { files: ['own.log'], afterMs: 200 };
  const ownLater = { files: ['own.log', 'b.log'], afterMs: 450 };
  expect(restartsFor([own, own, ownLater, own, own, own, own, own, own])).toEqual([
    0, 0, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000,
  ]);
  const saved = [3_000, 9_000, 40_000, 12_000, 5_000].map((afterMs) => ({ files: ['main.rs'], afterMs }));
  expect(restartsFor(saved)).toEqual([0, 0, 0, 0, 0]);
  const script = { files: ['api/v1/shop_types.go'], afterMs: 1_200 };
  expect(restartsFor([script, script, script, script, script, script])).toEqual([0, 0, 0, 0, 0, 0]);
  const edited = { files: ['main.rs'], afterMs: 5_000 };
  expect(restartsFor([own, own, own, edited, own])).toEqual([0, 0, 1000, 0, 2000]);
});

test('while no controller runs, the gateway gets the reason in one line, and for how long', () => {
  const exited = (code: number): RestartEvent => ({
    is: 'exited',
    run: 3,
    code,
    problem: { message: `The controller exited with code ${code}\n  panic: oh no` },
    at: 10,
  });
  const downOf = (run: Run) =>
    step(stateWith(run, { is: 'idle' }), exited(2)).effects.filter((effect) => effect.do === 'down');
  expect(downOf(RUNS.serving)).toEqual([
    {
      do: 'down',
      why: expect.stringMatching(/^the controller .*code 2; .* 1 s\b.*$/),
      ms: 1000,
    },
  ]);
  expect(downOf(RUNS.starting)).toEqual([
    {
      do: 'down',
      why: expect.stringMatching(/^the controller .*code 2; [^\d\n]+$/),
      ms: Number.POSITIVE_INFINITY,
    },
  ]);
});

test('whatever happens: one process, one build, a timer only during back-off, and a gate that is released in the end', () => {
  for (let seed = 1; seed <= 400; seed++) liveThrough(seed, seed % 2 === 0);
});

/** Something that can happen next, and what it ends. */
interface Happening {
  ends?: 'build' | 'process' | 'timer' | 'delay';
  event: RestartEvent;
}

/** A world that obeys the effects, and in which things happen at random. */
function liveThrough(seed: number, keepsWorked: boolean): void {
  const next = randomNumbers(seed);
  let state = servingState(0, { keepsWorked });
  /** The builds: the newest, the one that is kept because it worked, the one that runs, and those that were given up. */
  const builds = { newest: 0, kept: 0, runs: 0, ready: new Set([0]), givenUp: new Set<number>() };
  const world = {
    process: 0 as number | undefined,
    stopping: false,
    build: undefined as number | undefined,
    timer: false,
    delay: false,
    held: false,
  };
  let at = 0;
  const perform = (effect: Effect) => {
    if (effect.do === 'hold' || effect.do === 'release') {
      expect(world.held).toBe(effect.do === 'release');
      world.held = effect.do === 'hold';
    } else if (effect.do === 'start') {
      expect(world.process).toBeUndefined();
      Object.assign(world, { process: effect.run, stopping: false });
    } else if (effect.do === 'stop') {
      expect(world.process).toBeDefined();
      expect(effect.run).toBe(world.process);
      expect(world.stopping).toBe(false);
      world.stopping = true;
    } else if (effect.do === 'kill') {
      expect(world.stopping).toBe(true);
    } else if (effect.do === 'build') {
      expect(world.build).toBeUndefined();
      world.build = effect.build;
    } else if (effect.do === 'abort-build') world.build = undefined;
    else wait(effect);
  };
  const choose = (effect: Effect) => {
    if (effect.do === 'start') {
      builds.runs = effect.program === 'worked' ? builds.kept : builds.newest;
      // Only a program that was ready is started in place of a new one.
      if (effect.program === 'worked') expect(keepsWorked && builds.ready.has(builds.runs)).toBe(true);
    } else if (effect.do === 'emit' && effect.event.type === 'build.reverted') {
      expect(builds.givenUp).not.toContain(builds.newest);
      builds.givenUp.add(builds.newest);
    } else if (effect.do === 'keep') {
      expect(builds.runs).toBe(builds.newest);
      builds.kept = builds.newest;
    }
  };
  const wait = (effect: Effect) => {
    if (effect.do === 'back-off') {
      expect(world.timer).toBe(false);
      world.timer = true;
    } else if (effect.do === 'end-back-off') world.timer = false;
    else if (effect.do === 'delay-build') {
      expect(world.delay).toBe(false);
      expect(world.build).toBeUndefined();
      world.delay = true;
    } else if (effect.do === 'end-delay') world.delay = false;
  };
  const built = ({ build, identical, asWorked }: Extract<RestartEvent, { is: 'built' }>) => {
    builds.newest = build;
    // The same program under another number.
    if (!identical || (state.run.is !== 'starting' && state.run.is !== 'serving')) return;
    builds.runs = build;
    if (state.run.is === 'serving' || asWorked) builds.ready.add(build);
  };
  const happen = (event: RestartEvent) => {
    if (event.is === 'built') built(event);
    if (event.is === 'ready') builds.ready.add(builds.runs);
    const result = step(state, event);
    state = result.state;
    for (const effect of result.effects) {
      perform(effect);
      choose(effect);
    }
    expect(world.held).toBe(isHeld(state.run));
    expect(world.timer).toBe(state.run.is === 'backing-off');
    expect(world.delay).toBe(state.build.is === 'delayed');
    expect(world.process === undefined).toBe(state.run.is === 'down' || state.run.is === 'backing-off');
  };
  const ofProcess = (run: number): Happening[] => {
    const list: Happening[] = [
      { ends: 'process', event: { is: 'exited', run, code: next(2), problem: PROBLEM, at } },
    ];
    if (state.run.is === 'starting') {
      list.push({ event: { is: 'ready', run, pid: 1, at } });
      list.push({ event: { is: 'not-ready', run, problem: PROBLEM, at } });
    }
    if (world.stopping) list.push({ event: { is: 'lingers', run, answers: next(2) === 0, at } });
    return list;
  };
  const possible = (leaving: boolean): Happening[] => {
    const list: Happening[] = leaving ? [] : [{ event: { is: 'changed', files: [`${next(2)}`], at } }];
    const { build, process: run } = world;
    if (build !== undefined) {
      const identical = next(2) === 0;
      const asWorked = identical && builds.runs === builds.kept;
      list.push({ ends: 'build', event: { is: 'built', build, ms: 1, identical, asWorked, at } });
      list.push({ ends: 'build', event: { is: 'build-failed', build, ms: 1, output: '', at } });
    }
    if (run !== undefined) list.push(...ofProcess(run));
    if (world.held) list.push({ event: { is: 'half-waited', at } });
    if (world.timer) list.push({ ends: 'timer', event: { is: 'back-off-over', at } });
    if (world.delay) list.push({ ends: 'delay', event: { is: 'delay-over', at } });
    return list;
  };
  const happenOneOf = (list: Happening[]) => {
    const { ends, event } = list[next(list.length)]!;
    if (ends === 'timer' || ends === 'delay') world[ends] = false;
    else if (ends) world[ends] = undefined;
    happen(event);
  };
  for (; at < 60; at++) {
    happenOneOf(possible(false));
  }
  happen({ is: 'leave', at });
  for (; !isSettled(state); at++) {
    expect(at).toBeLessThan(200);
    happenOneOf(possible(true));
  }
  expect(world).toMatchObject({ held: false, build: undefined, timer: false, delay: false });
}

function randomNumbers(seed: number): (below: number) => number {
  let state = seed * 7919;
  return (below) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * below);
  };
}

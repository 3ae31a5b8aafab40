/** What holds for each step of a restart, whatever the state and the event. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { step } from '../../../src/controller/restart.ts';
import type { Effect, RestartEvent, Run, State } from '../../../src/controller/restart-state.ts';

const LAST_BUILD = 2;
const LAST_RUN = 3;
const AT = 10;
const OWN = 'own.log';

const numbers = fc.constantFrom(0, 1, 4);
const which = fc.constantFrom('newest' as const, 'worked' as const);
const build: fc.Arbitrary<State['build']> = fc.constantFrom(
  { is: 'idle' },
  { is: 'running', since: 5 },
  { is: 'delayed', since: 5, files: [OWN] },
  { is: 'closed' },
);
const running: fc.Arbitrary<Run> = fc.oneof(
  fc.record({
    is: fc.constant('starting' as const),
    since: fc.constantFrom(undefined, 6),
    failures: numbers,
  }),
  fc.record({ is: fc.constant('serving' as const), readyAt: fc.constant(0), failures: numbers }),
  fc.record({
    is: fc.constant('stopping' as const),
    since: fc.constant(6),
    old: fc.constantFrom('ending' as const, 'answering' as const, 'silent' as const),
    next: which,
  }),
);
const run: fc.Arbitrary<Run> = fc.oneof(
  { weight: 3, arbitrary: running },
  fc.constantFrom<Run>({ is: 'unstarted' }, { is: 'down' }, { is: 'backing-off', failures: 1 }),
);
const state: fc.Arbitrary<State> = fc
  .record({
    ...{ build, run, runs: which, keepsWorked: fc.boolean(), isBuilt: fc.boolean() },
    ...{ lastBuild: fc.constant(LAST_BUILD), newest: fc.constant(LAST_BUILD), worked: fc.constantFrom(1, 2) },
    ...{ lastRun: fc.constant(LAST_RUN), startedAt: fc.constant(0) },
    echo: fc.constantFrom<State['echo']>(undefined, { files: [OWN], delayMs: AT, count: 4, run: LAST_RUN }),
  })
  // `leave` ends a back-off.
  .filter((one) => !(one.build.is === 'closed' && one.run.is === 'backing-off'))
  .map((one) => ({ ...one, heldAt: isHeld(one.run) ? 7 : undefined }));

const problem = fc.constant({ message: 'problem' });
const ofBuild = fc.constantFrom(1, LAST_BUILD, LAST_BUILD);
const ofRun = fc.constantFrom(2, LAST_RUN, LAST_RUN);
const at = fc.constant(AT);
const events = {
  changed: fc.record({
    files: fc.constantFrom<string[]>([], [OWN], [OWN, 'a.log'], ['main.go']),
    is: fc.constant('changed' as const),
    at,
  }),
  built: fc.record({
    ...{ is: fc.constant('built' as const), build: ofBuild, ms: fc.constant(1), at },
    ...{ identical: fc.boolean(), asWorked: fc.boolean() },
  }),
  failed: fc.record({
    ...{ is: fc.constant('build-failed' as const), build: ofBuild, ms: fc.constant(1), at },
    output: fc.constant('x'),
  }),
  ready: fc.record({ is: fc.constant('ready' as const), run: ofRun, pid: fc.constant(1), at }),
  late: fc.record({ is: fc.constant('not-ready' as const), run: ofRun, problem, at }),
  exited: fc.record({
    ...{ is: fc.constant('exited' as const), run: ofRun, code: fc.constantFrom(0, 1, null), problem, at },
    ...{ isWrong: fc.boolean(), neverBegan: fc.boolean() },
  }),
  lingers: fc.record({ is: fc.constant('lingers' as const), run: ofRun, answers: fc.boolean(), at }),
  other: fc.constantFrom<RestartEvent>(
    { is: 'crash', at: AT },
    { is: 'half-waited', at: AT },
    { is: 'back-off-over', at: AT },
    { is: 'delay-over', at: AT },
    { is: 'leave', at: AT },
  ),
};
const event: fc.Arbitrary<RestartEvent> = fc.oneof(...Object.values(events));

function isHeld(one: Run): boolean {
  return one.is === 'starting' || (one.is === 'stopping' && one.old !== 'answering');
}

/** Whether something in this state waits for the event. */
function isAwaited(before: State, next: RestartEvent): boolean {
  const { is } = before.run;
  switch (next.is) {
    case 'changed':
      return before.build.is !== 'closed';
    case 'built':
    case 'build-failed':
      return before.build.is === 'running' && next.build === LAST_BUILD;
    case 'ready':
    case 'not-ready':
      return is === 'starting' && next.run === LAST_RUN;
    case 'exited':
      return (is === 'starting' || is === 'serving' || is === 'stopping') && next.run === LAST_RUN;
    case 'lingers':
      return is === 'stopping' && next.run === LAST_RUN;
    case 'crash':
      return is === 'starting' || is === 'serving';
    case 'half-waited':
      return before.run.is === 'stopping' && before.run.old === 'silent';
    case 'back-off-over':
      return is === 'backing-off';
    case 'delay-over':
      return before.build.is === 'delayed';
    case 'leave':
      return true;
  }
}

/** Whether a program that worked is kept in place of the one that runs, of which that is not known. */
function isUnproven({ keepsWorked, runs, newest, worked }: State): boolean {
  return keepsWorked && runs === 'newest' && newest !== worked;
}

const done = (effects: Effect[]): string[] => effects.map((one) => one.do);
const printed = (effects: Effect[]): string[] =>
  effects.flatMap((one) => (one.do === 'emit' ? [one.event.type] : []));

/** Holds for 1,000 pairs of a state and an event that it waits for. */
function always<E extends RestartEvent>(
  of: fc.Arbitrary<E>,
  holds: (before: State, event: E, after: ReturnType<typeof step>) => void,
): void {
  const property = fc.property(state, of, (before, next) => {
    fc.pre(isAwaited(before, next));
    holds(before, next, step(before, next));
  });
  fc.assert(property, { numRuns: 1_000 });
}

test('what nothing waits for changes nothing', () => {
  const property = fc.property(state, event, (before, next) => {
    fc.pre(!isAwaited(before, next));
    expect(step(before, next)).toEqual({ state: before, effects: [] });
  });
  fc.assert(property, { numRuns: 1_000 });
});

test('a state is what its effects have done', () => {
  always(event, (before, _, { state: after, effects }) => {
    const all = done(effects);
    const starts = all.includes('start');
    expect(starts).toBe(after.lastRun === LAST_RUN + 1);
    expect(after.startedAt).toBe(starts ? AT : 0);
    if (starts) expect(after.run.is).toBe('starting');
    if (all.includes('stop')) expect(after.run).toMatchObject({ is: 'stopping', old: 'ending' });
    expect(all.includes('build')).toBe(after.lastBuild === LAST_BUILD + 1);
    expect(all.includes('back-off')).toBe(after.run.is === 'backing-off' && after.run !== before.run);
    expect(after.heldAt !== undefined).toBe(isHeld(after.run));
    expect(all.indexOf('hold')).toBe(isHeld(after.run) && !isHeld(before.run) ? 0 : -1);
    expect(all.lastIndexOf('release')).toBe(isHeld(before.run) && !isHeld(after.run) ? all.length - 1 : -1);
  });
});

test('a controller that is killed on purpose starts again at once, as the same program', () => {
  always(fc.constant({ is: 'crash' as const, at: AT }), (before, _, { state, effects }) => {
    expect(done(effects).filter((one) => one !== 'hold')).toEqual(['kill']);
    const exit = { is: 'exited' as const, run: LAST_RUN, code: null, problem: { message: 'x' }, at: AT };
    const next = step(state, exit);
    expect(done(next.effects)).toEqual(['start']);
    expect(next.state.runs).toBe(before.runs);
  });
});

test('a session that ends builds no more, and waits for no restart', () => {
  always(event, (before, next, { state: after, effects }) => {
    if (next.is !== 'leave' && before.build.is !== 'closed') return;
    expect(after.build.is).toBe('closed');
    expect(after.run.is).not.toBe('backing-off');
    for (const effect of ['build', 'delay-build', 'back-off']) expect(done(effects)).not.toContain(effect);
    if (next.is === 'exited' && before.run.is === 'serving') expect(after.run.is).toBe('down');
  });
});

test("a change is built at once, unless it is the program's own", () => {
  always(events.changed, ({ build: before, echo }, { files }, { state: after, effects }) => {
    const isOwn = files.length > 0 && files.every((file) => file === OWN);
    if (isOwn && before.is === 'delayed') return expect(effects).toEqual([]);
    if (isOwn && before.is === 'idle' && echo !== undefined) {
      expect(effects).toMatchObject([{ event: { code: 'watch.own-changes' } }, { do: 'delay-build' }]);
      return expect(after.build.is).toBe('delayed');
    }
    expect(done(effects).at(-1)).toBe('build');
    expect(done(effects).includes('abort-build')).toBe(before.is === 'running');
    expect(done(effects).includes('end-delay')).toBe(before.is === 'delayed');
    // The time counts from the first change that no program serves.
    expect(after.build).toEqual({ is: 'running', since: before.is === 'idle' ? AT : 5 });
  });
});

const lives = ({ run: one }: State): boolean => one.is === 'starting' || one.is === 'serving';

test('each build ends with one event', () => {
  always(events.failed, ({ run: before }, _, { state: after, effects }) => {
    expect(printed(effects)).toEqual(['build.failed']);
    expect(after).toMatchObject({ build: { is: 'idle' }, run: before });
  });
  always(events.built, (before, { identical }, { effects }) => {
    const isReported = before.isBuilt || (identical && lives(before));
    expect(printed(effects).filter((type) => type === 'build.done')).toHaveLength(isReported ? 1 : 0);
  });
});

test('a program that is not the same replaces the one that runs, and its time counts from the first change', () => {
  always(events.built, (before, { identical }, { state: after, effects }) => {
    const { run: one, runs } = before;
    expect(done(effects).includes('stop')).toBe(lives(before) && !identical);
    if (one.is === 'stopping') expect(after.run).toEqual({ ...one, next: 'newest' });
    const unserved = one.is === 'starting' && runs === 'newest' ? one.since : undefined;
    if (done(effects).includes('stop')) expect(after.run).toMatchObject({ since: unserved ?? 5 });
    if (done(effects).includes('start')) expect(after.run).toMatchObject({ since: 5 });
  });
});

test('only a new program that becomes ready is announced, and kept', () => {
  always(events.ready, (before, _, { state: after, effects }) => {
    const isNew = before.run.is === 'starting' && before.run.since !== undefined && before.runs === 'newest';
    expect(printed(effects)).toEqual(isNew ? ['controller.replaced'] : []);
    expect(done(effects).includes('keep')).toBe(isUnproven(before));
    expect(after.run.is).toBe('serving');
    if (isUnproven(before)) expect(after.worked).toBe(after.newest);
  });
});

test('a program that exits makes way for the next one, or for the one that worked', () => {
  always(events.exited, (before, { code, isWrong, neverBegan }, { state: after, effects }) => {
    const failed = (isWrong || code !== 0) && !neverBegan;
    const reverts = before.run.is === 'starting' && failed && isUnproven(before);
    expect(printed(effects).includes('build.reverted')).toBe(reverts);
    if (reverts) expect(after).toMatchObject({ runs: 'worked', run: { is: 'starting' } });
    if (before.run.is !== 'stopping') return;
    expect(after).toMatchObject({ runs: before.run.next, run: { is: 'starting', since: 6 } });
  });
});

test('a program that exits by itself is restarted, unless only a change can help', () => {
  always(events.exited, (before, { code, isWrong }, { state: after, effects }) => {
    const { run: one } = before;
    if (one.is !== 'starting' && one.is !== 'serving') return;
    if (printed(effects).includes('build.reverted')) return;
    const isNew = one.is === 'starting' && one.since !== undefined;
    const isOver = isWrong || before.build.is === 'closed' || (isNew && code !== 0);
    const atOnce = code === 0 && one.failures === 0;
    expect(after.run.is).toBe(isOver ? 'down' : atOnce ? 'starting' : 'backing-off');
    expect(after.runs).toBe(before.runs);
  });
});

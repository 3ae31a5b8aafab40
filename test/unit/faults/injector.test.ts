import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Injector, MOST_RULES } from '../../../src/faults/injector.ts';
import { parseRule } from '../../../src/faults/parse.ts';
import { isAbout, type Subject } from '../../../src/faults/rule.ts';

const UPDATE: Subject = {
  verb: 'update',
  group: 'apps',
  resource: 'deployments',
  namespace: 'shop',
  name: 'web-1',
};

function injector(...texts: string[]) {
  let now = 0;
  const made = new Injector(() => now);
  made.add(texts.map(parseRule));
  return { made, pass: (ms: number) => (now += ms) };
}

test.each<[string, Partial<Subject>, boolean]>([
  ['409', {}, true],
  ['409 update', {}, true],
  ['409 write', {}, true],
  ['409 read', {}, false],
  ['409 deployments', {}, true],
  ['409 deployments', { subresource: 'status' }, false],
  ['409 deployments/*', {}, false],
  ['409 deployments/*', { subresource: 'status' }, true],
  ['409 deployments.apps/*', { subresource: 'scale' }, true],
  ['409 update', { subresource: 'status' }, true],
  ['409 deployments/status', {}, false],
  ['409 deployments/status', { subresource: 'status' }, true],
  ['409 deployments.apps', {}, true],
  ['409 deployments.extensions', {}, false],
  ['409 pods', {}, false],
  ['409 name=web-*', {}, true],
  ['409 name=web', {}, false],
  ['409 namespace=other', {}, false],
  ['500', { verb: 'review' }, false],
  ['500 review deployments', { verb: 'review' }, true],
  ['500 review', {}, false],
])('"%s" and %o', (text, subject, expected) => {
  const { made } = injector(text);
  expect(made.meet({ ...UPDATE, ...subject }) !== undefined).toBe(expected);
});

test('* stands for any text, whatever is around it', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', '-'), maxLength: 8 });
  const patterns = fc.string({ unit: fc.constantFrom('a', 'b', '-', '*'), maxLength: 6 });
  fc.assert(
    fc.property(patterns, letters, (pattern, name) => {
      const regex = new RegExp(`^${pattern.replaceAll('*', '.*')}$`);
      const { resource: _, ...rule } = parseRule('409');
      expect(isAbout({ ...rule, name: pattern }, { ...UPDATE, name })).toBe(regex.test(name));
    }),
  );
});

test('a rule is over after its count or its time', () => {
  const { made, pass } = injector('409 update count=2', '503 update for=10s');
  const codes = () => made.meet(UPDATE)?.end;
  expect([codes(), codes(), codes()]).toMatchObject([{ code: 409 }, { code: 409 }, { code: 503 }]);
  pass(10_000);
  expect(codes()).toBeUndefined();
  expect(made.list()).toMatchObject([
    { id: '1', seen: 2, met: 2, isOver: true },
    { id: '2', seen: 1, met: 1, isOver: true },
  ]);
});

test('delays add up, and the first answer counts', () => {
  const { made } = injector('delay=1s update', 'delay=2s deployments', '409 update', '503 update');
  expect(made.meet(UPDATE)).toMatchObject({ delayMs: 3_000, end: { code: 409 }, by: { length: 3 } });
});

test('a share is met about as often, and the same seed makes the same choices, whatever else is called', () => {
  const choices = (others: boolean): boolean[] => {
    const { made } = injector('409 update share=30% seed=7', 'delay=1s get share=50% seed=1');
    return Array.from({ length: 1_000 }, () => {
      if (others) made.meet({ ...UPDATE, verb: 'get' });
      return made.meet(UPDATE) !== undefined;
    });
  };
  const first = choices(false);
  expect(choices(true)).toEqual(first);
  const met = first.filter(Boolean).length;
  expect(met).toBeGreaterThan(250);
  expect(met).toBeLessThan(350);
});

test('events of watches are met by their own rules only', () => {
  const { made } = injector('drop watch deployments name=web-*', '410 watch deployments count=1');
  const watch = { ...UPDATE, verb: 'watch' };
  const { name: _, ...all } = watch;
  expect(made.isAboutEventsOf(all)).toBe(true);
  expect(made.isAboutEventsOf({ ...all, resource: 'pods' })).toBe(false);
  expect(made.meetEvent(watch)).toMatchObject({ end: { do: 'drop' } });
  expect(made.meetEvent({ ...watch, name: 'other' })).toBeUndefined();
  expect(made.meet(all)).toMatchObject({ end: { code: 410 } });
});

test('rules are cleared by their ids, or all, and there is a limit', () => {
  const { made } = injector('409', '503', '504');
  expect(made.clear(['2', '9'])).toEqual(['9']);
  expect(made.list().map(({ id }) => id)).toEqual(['1', '3']);
  expect(made.add(Array(MOST_RULES - 1).fill(parseRule('409')))).toBeUndefined();
  expect(made.list()).toHaveLength(2);
  made.clear([]);
  expect(made.list()).toEqual([]);
  expect(made.meet(UPDATE)).toBeUndefined();
});

test('the nth is met alone, and then the rule is over', () => {
  const { made } = injector('409 update nth=2');
  const codes = () => made.meet(UPDATE)?.end;
  expect([codes(), codes(), codes()]).toEqual([undefined, { do: 'answer', code: 409 }, undefined]);
  expect(made.list()).toMatchObject([{ seen: 2, met: 1, isOver: true }]);
});

test('a crash after a write is met when the write has succeeded, one before it when it arrives, each once', () => {
  const { made } = injector('crash update', 'crash-before update');
  expect(made.meet(UPDATE)).toMatchObject({ end: { do: 'crash', when: 'before' } });
  expect(made.meet(UPDATE)).toBeUndefined();
  expect(made.meetAnswered(UPDATE)).toMatchObject({ end: { do: 'crash', when: 'after' } });
  expect(made.meetAnswered(UPDATE)).toBeUndefined();
});

test('a rule that was about nothing yet says what was seen of its resource instead, until it is about something', () => {
  const { made } = injector('409 patch deployments name=web-1', '409 update deployment', '503 list');
  const seen = (subject: Partial<Subject>, times: number) => {
    for (let count = 0; count < times; count++) made.meet({ ...UPDATE, ...subject });
  };
  seen({}, 3);
  seen({ subresource: 'status' }, 2);
  seen({ verb: 'patch', name: 'other' }, 1);
  seen({ verb: 'review' }, 1);
  seen({ resource: 'pods' }, 9);
  const [patch, typo, list] = made.list();
  expect(patch).toMatchObject({
    instead: [
      { verb: 'update', resource: 'deployments', times: 3 },
      { verb: 'update', resource: 'deployments/status', times: 2 },
      { verb: 'patch', resource: 'deployments', times: 1, but: 'name' },
    ],
  });
  expect(typo).toMatchObject({ instead: [], meant: 'deployments' });
  expect(list).not.toHaveProperty('instead');
  seen({ verb: 'patch' }, 1);
  expect(made.list()[0]).not.toHaveProperty('instead');
});

import { expect, it } from 'vitest';
import * as choosing from '../../../src/session/context/choose-session.ts';
import type { LocalSession } from '../../../src/session/context/local-sessions.ts';

type Choice = Partial<choosing.Choice>;

const withDefaults = (choice: Choice) => ({ wanted: undefined, forAgent: undefined, ...choice });
const chooseSession = (all: LocalSession[], checkout: string, choice: Choice) =>
  choosing.chooseSession(all, checkout, withDefaults(choice));
const chooseSessions = (all: LocalSession[], checkout: string, choice: Choice) =>
  choosing.chooseSessions(all, checkout, withDefaults(choice));

const session = (id: string, checkout: string) => ({ id, checkout, directory: `/state/${id}` });
const a = session('a', '/src/a');
const b = session('b', '/src/b');

it.each([
  ['the one of this checkout', [a, b], '/src/b', undefined, b],
  ['the only one', [a], '/src/c', undefined, a],
  ['the one that was named', [a, b], '/src/b', 'a', a],
])('takes %s', (_, all, checkout, wanted, chosen) => {
  expect(chooseSession(all, checkout, { wanted })).toBe(chosen);
});

it('takes all of this checkout where several can be meant', () => {
  const again = session('c', '/src/b');
  const choose = (wanted?: string) => chooseSessions([a, b, again], '/src/b', { wanted });
  expect(choose()).toEqual([b, again]);
  expect(choose('a')).toEqual([a]);
  expect(() => chooseSessions([b, again], '/src/c', { wanted: undefined })).toThrow(
    expect.objectContaining({ code: 'session.not-found' }),
  );
});

it('names the operators where one checkout has several', () => {
  const [hook, agent] = [
    { ...a, operator: 'hook' },
    { ...a, id: 'c', operator: 'agent' },
  ];
  expect(() => chooseSession([hook, agent], '/src/a', { wanted: undefined })).toThrow(
    expect.objectContaining({ hint: expect.stringMatching(/a {2}hook {2}\/src\/a\n {2}c {2}agent /) }),
  );
});

it('says on one line each what can be done where no session runs', () => {
  const fail = () =>
    chooseSession([], '/src/c', { wanted: undefined, otherwise: 'devloop reviews --set NAME' });
  const hint = 'To start one: devloop up\ndevloop reviews --set NAME';
  expect(fail).toThrow(expect.objectContaining({ hint }));
});

it.each([undefined, 'a'])(
  'names a session that has crashed, and how to restore the cluster (%s)',
  (wanted) => {
    const fail = () => chooseSession([{ ...a, hasCrashed: true }], '/src/c', { wanted });
    expect(fail).toThrow(
      expect.objectContaining({
        code: 'session.not-found',
        message: expect.stringContaining('Session a of /src/a'),
        hint: expect.stringMatching(/: devloop down$/),
      }),
    );
  },
);

it('takes a crashed session only to read its files, and only that of this checkout or the one that was named', () => {
  const dead = { ...a, hasCrashed: true as const };
  const choose = (checkout: string, wanted?: string) =>
    chooseSession([dead, b], checkout, { wanted, allowsCrashed: true });
  expect(choose('/src/a')).toBe(dead);
  expect(choose('/src/c', 'a')).toBe(dead);
  expect(choose('/src/c')).toBe(b);
  expect(() => chooseSession([dead, b], '/src/a', { wanted: undefined })).toThrow(
    expect.objectContaining({
      ...{ code: 'session.not-found', message: expect.stringContaining('Session a of /src/a') },
    }),
  );
  const again = { ...dead, id: 'c' };
  expect(() => chooseSession([dead, again], '/src/a', { wanted: undefined, allowsCrashed: true })).toThrow(
    expect.objectContaining({
      code: 'session.not-found',
      hint: expect.stringMatching(/\ba {2}.*\n.*\bc {2}/),
    }),
  );
});

it.each([
  ['there is none', [], undefined],
  ['several run elsewhere', [a, b], undefined],
  ['none has the name', [a], 'b'],
])('fails if %s, and lists those that run', (_, all, wanted) => {
  const fail = () => chooseSession(all, '/src/c', { wanted });
  expect(fail).toThrow(expect.objectContaining({ code: 'session.not-found' }));
  for (const { id, checkout } of all)
    expect(fail).toThrow(expect.objectContaining({ hint: expect.stringContaining(`${id}  ${checkout}`) }));
});

it.each([undefined, 'a'])('for a coding agent, those of other checkouts do not exist (%s)', (wanted) => {
  const choice = { wanted, forAgent: true } as const;
  for (const choose of [chooseSession, chooseSessions]) {
    const fail = () => choose([a, { ...session('d', '/src/d'), hasCrashed: true }], '/src/b', choice);
    const message = expect.stringContaining('in this checkout');
    const hint = expect.not.stringContaining('/src/');
    expect(fail).toThrow(expect.objectContaining({ code: 'session.not-found', message, hint }));
  }
  expect(chooseSession([a, b], '/src/b', { forAgent: true })).toBe(b);
});

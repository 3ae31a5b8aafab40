import { expect, it } from 'vitest';
import { chooseSession } from '../../../src/session/context/choose-session.ts';

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

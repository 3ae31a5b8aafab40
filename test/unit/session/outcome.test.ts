import { expect, it } from 'vitest';
import { DevloopError } from '../../../src/errors.ts';
import { outcomeOf } from '../../../src/session/end/outcome.ts';

const interruption = new DevloopError('interrupted', 'Interrupted while waiting for Pod a/b.', {
  hint: 'devloop down',
});
const unreachable = new DevloopError('cluster.unreachable', 'connect ENETUNREACH');
const incomplete = new DevloopError('undo.incomplete', 'One object was changed.');

it('an interrupted session that restored everything has no next step', () => {
  const { failure, warning } = outcomeOf({ error: interruption }, undefined, true);
  expect(failure?.error).toMatchObject({ code: 'interrupted', hint: undefined });
  expect(warning).toBeUndefined();
});

it('what failed first is the error, and what is not restored is a warning with the next step', () => {
  const { failure, warning } = outcomeOf({ error: interruption }, { error: unreachable }, true);
  expect(failure?.error).toBe(interruption);
  expect(warning).toMatchObject({ type: 'warning', hint: 'devloop down' });
});

it('a session that could not be restored says how to restore the rest', () => {
  const { failure } = outcomeOf(undefined, { error: unreachable }, true);
  expect(failure?.error).toMatchObject({
    code: 'cluster.unreachable',
    hint: expect.stringContaining('devloop down'),
  });
});

it('fields that somebody else changed are an error as it is', () => {
  expect(outcomeOf(undefined, { error: incomplete }, true).failure?.error).toBe(incomplete);
});

it('other failures stay as they are', () => {
  expect(outcomeOf({ error: unreachable }, undefined, true)).toEqual({ failure: { error: unreachable } });
  expect(outcomeOf(undefined, undefined, true)).toEqual({});
});

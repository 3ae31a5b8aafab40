import { expect, it } from 'vitest';
import { DevloopError } from '../../../src/errors.ts';
import { outcomeOf, type Run } from '../../../src/session/end/outcome.ts';

const interruption = new DevloopError('interrupted', 'Interrupted while waiting for Pod a/b.', {
  hint: 'devloop down',
});
const unreachable = new DevloopError('cluster.unreachable', 'connect ENETUNREACH');
const incomplete = new DevloopError('undo.incomplete', 'One object was changed.');
const aborted = Object.assign(new Error('This operation was aborted'), { name: 'AbortError' });
const outcome = (run: Partial<Run>) =>
  outcomeOf({
    failure: undefined,
    restoring: undefined,
    mayHaveChanged: true,
    isInterrupted: false,
    ...run,
  });

it.each([interruption, unreachable, new DevloopError('route.none', 'No answer.'), aborted, 'SIGINT'])(
  'an interrupted session that restored everything, or changed nothing, says so once: %s',
  (error) => {
    const run = { failure: { error }, isInterrupted: true };
    expect(outcome(run)).toEqual({});
    const { failure, warning } = outcome({ ...run, mayHaveChanged: false });
    expect(failure?.error).toMatchObject({ code: 'interrupted', hint: undefined });
    expect(warning).toBeUndefined();
  },
);

it('a bug is reported although the session was interrupted', () => {
  const error = new TypeError('bug');
  expect(outcome({ failure: { error }, isInterrupted: true }).failure?.error).toBe(error);
});

it('what failed first is the error, and what is not restored is a warning with the next step', () => {
  const { failure, warning } = outcome({ failure: { error: incomplete }, restoring: { error: unreachable } });
  expect(failure?.error).toBe(incomplete);
  expect(warning).toMatchObject({
    code: 'restore.incomplete',
    values: { error: 'cluster.unreachable' },
    hint: 'devloop down',
  });
});

it('an interrupted session that could not be restored does not end as one that was', () => {
  const run = { failure: { error: interruption }, restoring: { error: unreachable }, isInterrupted: true };
  const { failure, warning } = outcome(run);
  expect(failure?.error).toMatchObject({
    code: 'cluster.unreachable',
    hint: expect.stringContaining('devloop down'),
  });
  expect(warning).toBeUndefined();
});

it('a session that could not be restored says how to restore the rest', () => {
  const { failure } = outcome({ restoring: { error: unreachable } });
  expect(failure?.error).toMatchObject({
    code: 'cluster.unreachable',
    hint: expect.stringContaining('devloop down'),
  });
});

it('fields that somebody else changed are an error as it is', () => {
  expect(outcome({ restoring: { error: incomplete } }).failure?.error).toBe(incomplete);
});

it('a manager that cannot start is named, and nothing is said to be left to restore', () => {
  const hint = 'kubectl describe pod x';
  const error = new DevloopError('manager.not-started', 'Deployment x cannot start.', { hint });
  expect(outcome({ restoring: { error }, isInterrupted: true }).failure?.error).toBe(error);
  const { failure, warning } = outcome({ failure: { error: unreachable }, restoring: { error } });
  expect(failure?.error).toBe(unreachable);
  const values = { error: error.code, cause: error.message, next: hint };
  expect(warning).toMatchObject({ code: 'error.further', values, message: error.message, hint });
});

it('other failures stay as they are', () => {
  expect(outcome({ failure: { error: unreachable } })).toEqual({ failure: { error: unreachable } });
  expect(outcome({})).toEqual({});
});

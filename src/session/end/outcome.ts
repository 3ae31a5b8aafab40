import { DevloopError, messageOf } from '../../errors.ts';
import type { DevloopEvent } from '../../report/events.ts';

/** What was thrown, in a value of its own: anything can be thrown, even undefined. */
export interface Failure {
  error: unknown;
}

/** How `up` ends: with a warning, an error, both or neither. */
export interface Outcome {
  warning?: DevloopEvent;
  failure?: Failure;
}

/** What failed first is the command's error. What could not be restored is reported in addition. */
export function outcomeOf(
  failure: Failure | undefined,
  restoring: Failure | undefined,
  mayHaveChanged: boolean,
): Outcome {
  if (restoring === undefined) {
    if (failure === undefined) return {};
    return { failure: isInterruption(failure.error) ? { error: interrupted(mayHaveChanged) } : failure };
  }
  if (failure === undefined) return { failure: { error: notRestored(restoring.error) } };
  const message = `Not everything could be restored: ${messageOf(restoring.error)}`;
  return { failure, warning: { type: 'warning', message, hint: 'devloop down' } };
}

function isInterruption(error: unknown): boolean {
  return error instanceof DevloopError && error.code === 'interrupted';
}

/** Which wait was interrupted no longer matters. */
function interrupted(mayHaveChanged: boolean): DevloopError {
  const rest = mayHaveChanged ? 'Everything is restored.' : 'Nothing was changed.';
  return new DevloopError('interrupted', `Interrupted. ${rest}`);
}

function notRestored(error: unknown): unknown {
  if (!(error instanceof DevloopError) || error.code === 'undo.incomplete') return error;
  const hint = [error.hint, 'To restore the rest: devloop down'].filter(Boolean).join('\n');
  const message = `Not everything could be restored: ${error.message}`;
  return new DevloopError(error.code, message, { hint, cause: error });
}

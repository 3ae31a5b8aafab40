import { causeOf, DevloopError, originOf } from '../../errors.ts';
import type { DevloopEvent, Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';

/** Anything can be thrown, even undefined, so this wraps what was thrown. */
export interface Failure {
  error: unknown;
}

/** How a run of `up` went. */
export interface Run {
  /** Why the take-over or the session failed. */
  failure: Failure | undefined;
  /** Why the restoration failed. */
  restoring: Failure | undefined;
  mayHaveChanged: boolean;
  /** Whether somebody pressed Ctrl-C before anything failed. */
  isInterrupted: boolean;
}

/** How `up` ends: with a warning, an error, both or neither. */
export interface Outcome {
  warning?: DevloopEvent;
  failure?: Failure;
}

/** The command's error is the first failure. A failed restoration is reported in addition. */
export function outcomeOf({ failure, restoring, mayHaveChanged, isInterrupted }: Run): Outcome {
  const own = failure && isInterrupted && isExpected(failure.error) ? undefined : failure;
  if (restoring === undefined) {
    if (own !== undefined) return { failure: own };
    // The event `session.restored` has already reported that everything is restored.
    return failure === undefined || mayHaveChanged ? {} : { failure: { error: interrupted() } };
  }
  if (own === undefined) return { failure: { error: notRestored(restoring.error) } };
  return { failure: own, warning: warningOf(restoring.error) };
}

/** Whether an error no longer matters after Ctrl-C, like that of the interrupted step. A bug still matters. */
function isExpected(thrown: unknown): boolean {
  const error = originOf(thrown);
  return error instanceof DevloopError || !(error instanceof Error) || error.name === 'AbortError';
}

function interrupted(): DevloopError {
  return new DevloopError('interrupted', 'Interrupted. Nothing was changed.');
}

function warningOf(error: unknown): DevloopEvent {
  if (error instanceof DevloopError && isAllDone(error)) return furtherError(error);
  return notice('restore.incomplete', causeOf(error));
}

/** Whether the error leaves nothing for `devloop down` to do. */
function isAllDone({ code }: DevloopError): boolean {
  return code === 'undo.incomplete' || code === 'manager.not-started';
}

function notRestored(error: unknown): unknown {
  if (!(error instanceof DevloopError) || isAllDone(error)) return error;
  const hint = [error.hint, 'To restore the rest: devloop down'].filter(Boolean).join('\n');
  const message = `Not everything could be restored: ${error.message}`;
  return new DevloopError(error.code, message, { hint, cause: error });
}

/** Warns of a failure besides the command's error. A session that ended only because another one did has nothing to report. */
export function warnOf(thrown: unknown, emit: Emit): void {
  const error = originOf(thrown);
  if (error instanceof DevloopError && error.code === 'interrupted') return;
  emit(furtherError(error));
}

function furtherError(error: unknown): DevloopEvent {
  const next = error instanceof DevloopError ? error.hint : undefined;
  return notice('error.further', { ...causeOf(error), next });
}

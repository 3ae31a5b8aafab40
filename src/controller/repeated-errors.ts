import type { DevloopEvent, Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import type { ReviewVerdict } from '../report/review.ts';
import { levelOf } from './log-level.ts';

/** Only what a controller logs this soon after its start counts. Later, somebody who edits the code sees errors anyway. */
const FIRST_MS = 30_000;
/** A reconciler retries quickly at first, so this many equal errors are no coincidence. */
const TIMES = 3;
/** How long the warning is delayed after `TIMES` errors, so that it reports a more useful count. */
const SETTLE_MS = 3_000;

const REFUSALS = new Set<ReviewVerdict>(['denied', 'failed']);

export interface RepeatedErrors extends Disposable {
  observe(event: DevloopEvent): void;
}

/**
 * A manager can answer reviews while its reconcilers do nothing but log errors. The same error, logged again and again by a controller that
 * has just started, becomes one warning with its count. Each error is reported only once. Many webhooks log why they refuse a review, so
 * an error is reported only if it comes more often than refused reviews. No error is reported after the signal has aborted: while the
 * session ends, errors come from what is being restored.
 */
export function noticeRepeatedErrors(
  { emit, signal }: { emit: Emit; signal: AbortSignal },
  settleMs = SETTLE_MS,
): RepeatedErrors {
  const counts = new Map<string, number>();
  const reported = new Set<string>();
  const timers = new Set<NodeJS.Timeout>();
  let startedAt = performance.now();
  let refusals = 0;
  const report = (error: LoggedError): void => {
    if (signal.aborted) return;
    const times = counts.get(error.key) ?? 0;
    if (times <= refusals) return void reported.delete(error.key);
    emit(notice('controller.repeats-error', { times, logged: error.text }));
  };
  const count = (error: LoggedError): void => {
    const times = (counts.get(error.key) ?? 0) + 1;
    counts.set(error.key, times);
    if (times < TIMES || reported.has(error.key)) return;
    reported.add(error.key);
    timers.add(setTimeout(() => report(error), settleMs).unref());
  };
  return {
    observe(event) {
      if (event.type === 'controller.started') {
        startedAt = performance.now();
        counts.clear();
        refusals = 0;
      }
      if (event.type === 'review' && REFUSALS.has(event.verdict)) refusals += 1;
      if (event.type !== 'controller.output' || performance.now() - startedAt > FIRST_MS) return;
      const error = errorIn(event.line);
      if (error !== undefined) count(error);
    },
    [Symbol.dispose]() {
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

export interface LoggedError {
  /** A key that is equal for the same error on another object, or at another time. */
  key: string;
  /** The error for display: `Reconciler error: pods "a" not found`. */
  text: string;
}

const ERROR = /(?:"(?:error|err)"\s*:\s*|\b(?:error|err)=)(?:"((?:[^"\\]|\\.)*)"|(\S+))/;
const MESSAGE =
  /(?:"(?:msg|message|M)"\s*:\s*|\b(?:msg|message)=)(?:"((?:[^"\\]|\\.)*)"|(\S+))|^E[^\]]*\]\s*"((?:[^"\\]|\\.)*)"|\tERROR\t([^\t{]+)/;
/** Two writers collided; the next try usually succeeds. */
const HARMLESS = /the object has been modified/;
const LONGEST = 500;

/** The error that a line of a log reports; undefined if it reports no error with a cause. */
export function errorIn(line: string): LoggedError | undefined {
  if (levelOf(line) !== 'error' || HARMLESS.test(line)) return undefined;
  const cause = firstGroup(ERROR.exec(line));
  if (cause === undefined) return undefined;
  const text = [firstGroup(MESSAGE.exec(line)), cause].filter((part) => part !== undefined).join(': ');
  const key = text.replaceAll(/"[^"]*"|'[^']*'/g, '""').replaceAll(/\b[0-9a-f-]{8,}\b|\d+/gi, '0');
  return { key, text: text.slice(0, LONGEST) };
}

function firstGroup(match: RegExpExecArray | null): string | undefined {
  const value = match?.slice(1).find((group) => group !== undefined);
  return value?.replaceAll(/\\(.)/g, '$1').trim();
}

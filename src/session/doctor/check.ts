import { DevloopError, type ErrorCode } from '../../errors.ts';
import type { Verdict } from '../../report/events.ts';

export interface Finding {
  verdict: Verdict;
  answer: string;
  /** How that is known. */
  proof?: string;
  latencyMs?: number;
  /** The next thing to do, best a command. */
  hint?: string;
  /** What `up` would fail with; set when the verdict is bad. */
  code?: ErrorCode;
}

export interface Check {
  name: string;
  limitSeconds: number;
  /** `up` does not need it: where it cannot be answered, that is unknown and not bad. */
  aside?: true;
  /** What it means that it does not end in time; `cluster.unreachable` where absent. */
  late?: ErrorCode;
  /** Throws NotChecked, or the very error with which `up` would fail. */
  run(signal: AbortSignal): Promise<Finding | Finding[]>;
}

/** Something that the check stands on is not there; what that is has a finding of its own. */
export class NotChecked extends Error {}

/** What an earlier check brought. Where that failed, this one is not checked because of it. */
export async function standingOn<T>(earlier: Promise<T>, lacking: string): Promise<T> {
  try {
    return await earlier;
  } catch {
    throw new NotChecked(lacking);
  }
}

/** A failure as a finding; what is no expected failure is a bug, and thrown on. */
export function findingOf(error: unknown, aside: boolean): Finding {
  if (error instanceof NotChecked) return { verdict: 'unknown', answer: `not checked: ${error.message}` };
  if (!(error instanceof DevloopError)) throw error;
  const { code, message, hint } = error;
  const next = hint === undefined ? {} : { hint };
  return aside
    ? { verdict: 'unknown', answer: message, ...next }
    : { verdict: 'fail', answer: message, ...next, code };
}

export function lateFinding({ aside, late, limitSeconds }: Check): Finding {
  const answer = `no answer within ${limitSeconds} s`;
  return aside
    ? { verdict: 'unknown', answer }
    : { verdict: 'fail', answer, code: late ?? 'cluster.unreachable' };
}

import { expect } from 'vitest';
import { CATALOGUE, type ErrorCode } from '../../src/errors.ts';

/** How a command refuses something: its error, which has a next step. */
export interface Refusal {
  code: ErrorCode;
  message: RegExp | string;
  hint: RegExp | string;
}

/** Expects these events, with the documented exit code. */
export function refusalEvents({ code, message, hint }: Refusal): object[] {
  const matching = (wanted: RegExp | string): unknown =>
    typeof wanted === 'string' ? expect.stringContaining(wanted) : expect.stringMatching(wanted);
  const exitCode = CATALOGUE[code].exit;
  return [{ type: 'error', code, message: matching(message), hint: matching(hint), exitCode }];
}

/** A stack, or what devloop prints about its own bugs. */
export const A_STACK = /^\s+at .+:\d+:\d+\)?$|This is a bug/m;

import { join } from 'node:path';
import { isSea } from 'node:sea';
import { CATALOGUE, type ErrorCode } from './error-codes.ts';

export { CATALOGUE, type ErrorCode, EXIT_CODES } from './error-codes.ts';

/**
 * The path of a document in this installation: src and dist are both one level below the package. An executable comes without documents, and the
 * checkout in which somebody types a command may have a file of that name.
 */
export function documentPath(name: string): string {
  return isSea() ? `docs/${name} in the sources of devloop` : join(import.meta.dirname, '..', 'docs', name);
}

/**
 * In a hint, stands for the command that is running, as the user typed it. Flags that follow are added, or replace the typed flag of the
 * same name.
 */
export const AGAIN = '<again>';

export interface DevloopErrorOptions {
  /** What to do next, ideally a command. */
  hint?: string;
  cause?: unknown;
  /** Whether the message only sums up what was printed before. */
  isSummary?: boolean;
}

/** An expected failure: something outside devloop is not as devloop needs it. Anything else that is thrown is a bug. */
export class DevloopError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly isSummary: boolean;

  constructor(code: ErrorCode, message: string, options: DevloopErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'DevloopError';
    this.code = code;
    // A list of suggestions can be empty.
    this.hint = options.hint || undefined;
    this.isSummary = options.isSummary ?? false;
  }

  get exitCode(): number {
    return CATALOGUE[this.code].exit;
  }
}

/**
 * How a command ends that has exit codes of its own. The cause, if there is one, is reported with its own code. An interruption is one all
 * the same.
 */
export class Ending extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, cause?: unknown) {
    super(`exit code ${exitCode}`, cause === undefined ? undefined : { cause });
    this.exitCode = exitCode;
  }
}

interface ReportedError {
  code: string;
  message: string;
  hint?: string | undefined;
  isSummary?: boolean | undefined;
}

/** An error that another process has reported. `otherwise`: what stands for a code that this version does not know. */
export function reportedError(
  { code, message, hint = '', isSummary = false }: ReportedError,
  otherwise: ErrorCode = 'session.not-ready',
): DevloopError {
  const known = Object.hasOwn(CATALOGUE, code) ? (code as ErrorCode) : otherwise;
  return new DevloopError(known, message, { hint, isSummary });
}

/** The first failure. If releasing something then fails, too (the API server is gone, for example), JavaScript wraps both errors. */
export function originOf(error: unknown): unknown {
  return error instanceof SuppressedError ? originOf(error.suppressed) : error;
}

/** For the values of a note or a warning: the error's code, unless it is a bug, and its text. */
export function causeOf(error: unknown): { error?: ErrorCode; cause: string } {
  return { ...(error instanceof DevloopError && { error: error.code }), cause: messageOf(error) };
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

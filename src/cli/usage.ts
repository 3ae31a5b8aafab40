import type { CommanderError } from 'commander';
import { DevloopError } from '../errors.ts';

/** Commander's error as one of ours; its suggestion, if any, becomes the hint. */
export function usageError(error: CommanderError, help: string): DevloopError {
  const [message = '', suggestion] = error.message
    .replace(/^error: (?:command-argument value )?/, '')
    .replace(/ is invalid for argument '\w+'\./, ' is invalid.')
    .split('\n');
  const hint = suggestion?.replace(/^\((.*)\)$/, '$1') ?? help;
  return invalid(`${message.charAt(0).toUpperCase()}${message.slice(1).replace(/\.$/, '')}.`, hint, error);
}

export function invalid(message: string, hint: string, cause?: unknown): DevloopError {
  return new DevloopError('usage.invalid', message, { hint, cause });
}

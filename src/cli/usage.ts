import type { CommanderError } from 'commander';
import { DevloopError } from '../errors.ts';

/** Commander's error as a DevloopError; its suggestion, if any, becomes the hint. */
export function usageError(error: CommanderError, help: string): DevloopError {
  const suggestion = /\n\((Did you mean .*)\)$/.exec(error.message);
  const message = error.message
    .slice(0, suggestion?.index)
    .replace(/^error: (?:command-argument value )?/, '')
    .replace(/ is invalid for argument '\w+'\./, ' is invalid.');
  const hint = suggestion?.[1] ?? help;
  return invalid(`${message.charAt(0).toUpperCase()}${message.slice(1).replace(/\.$/, '')}.`, hint, error);
}

export function invalid(message: string, hint: string, cause?: unknown): DevloopError {
  return new DevloopError('usage.invalid', message, { hint, cause });
}

import type { CommanderError } from 'commander';
import { DevloopError } from '../errors.ts';
import { shellWord } from '../phrases.ts';

/** Commander's error as a DevloopError; its suggestion, if any, becomes the hint. `typed`: the command, such as `devloop down`. */
export function usageError(error: CommanderError, typed: string): DevloopError {
  const suggestion = /\n\((Did you mean .*)\)$/.exec(error.message);
  const message = error.message
    .slice(0, suggestion?.index)
    .replace(/^error: (?:command-argument value )?/, '')
    .replace(/ is invalid for argument '\w+'\./, ' is invalid.');
  // Only `up` has --yes, because only `up` asks.
  const isYes = error.message.includes("unknown option '--yes'");
  const hint = suggestion?.[1] ?? (isYes ? `Leave out --yes: ${typed} asks nothing.` : `${typed} --help`);
  return invalid(`${message.charAt(0).toUpperCase()}${message.slice(1).replace(/\.$/, '')}.`, hint, error);
}

export function invalid(message: string, hint: string, cause?: unknown): DevloopError {
  return new DevloopError('usage.invalid', message, { hint, cause });
}

/** `devloop run` could mean two things. */
export function noRun(name: string, own: string[] | undefined): DevloopError {
  return invalid('There is no command `run`.', waysToRun(name, own));
}

/** What devloop does with a command of the user. */
export function waysToRun(name: string, own: string[] = []): string {
  const command = own.length > 0 ? own.map(shellWord).join(' ') : 'COMMAND';
  return [
    `To run the controller by it: ${name} up -- ${command}`,
    `To run it against the local code: ${name} test -- ${command}`,
  ].join('\n');
}

import { type Argument, type Command, InvalidArgumentError, type Option } from 'commander';
import { didYouMean } from '../similar.ts';

/**
 * Makes the error for a wrong value suggest similar ones if the flag or argument has a fixed set of values. commander itself does this only
 * for the names of flags and commands.
 */
export function suggestChoices({ options, registeredArguments }: Command): void {
  for (const taker of [...options, ...registeredArguments]) suggestChoice(taker);
}

function suggestChoice(taker: Option | Argument): void {
  const { argChoices } = taker;
  if (argChoices === undefined || argChoices === null) return;
  taker.argParser((value: string) => {
    if (argChoices.includes(value)) return value;
    throw notAmong(value, argChoices, `Allowed choices are ${argChoices.join(', ')}.`);
  });
}

/** The error for a value that is not allowed. It suggests similar values among `known`. */
export function notAmong(value: string, known: readonly string[], expected: string): InvalidArgumentError {
  const suggestion = didYouMean(value, known);
  // This is the form of commander's own suggestions, which become the hint.
  return new InvalidArgumentError(suggestion === undefined ? expected : `${expected}\n(${suggestion})`);
}

import { type Argument, type Command, InvalidArgumentError, type Option } from 'commander';
import { didYouMean } from '../similar.ts';

/**
 * For flags and arguments with a fixed set of values: the error for a wrong value suggests similar ones, as commander does for the names of
 * flags and commands.
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

/** `known`: the values that may have been meant. */
export function notAmong(value: string, known: readonly string[], expected: string): InvalidArgumentError {
  const suggestion = didYouMean(value, known);
  // In the form of commander's own suggestions, which become the hint.
  return new InvalidArgumentError(suggestion === undefined ? expected : `${expected}\n(${suggestion})`);
}

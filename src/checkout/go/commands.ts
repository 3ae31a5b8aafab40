import type { ProgramCommand } from '../flags.ts';
import type { Composite, Expression } from './reader/nodes.ts';
import { type FieldValue, type GoSource, type GoSources, lastName } from './sources.ts';

/** The cobra commands in the sources. */
export function cobraCommands({ sources, valueIn }: GoSources): ProgramCommand[] {
  return sources.flatMap((source) =>
    fieldsIn(source, 'Use').flatMap(({ of }) => {
      const name = commandName(of, source, valueIn);
      return name === undefined ? [] : [{ name, directory: source.directory }];
    }),
  );
}

/**
 * The words that the sources compare or define as names of commands, or perhaps of something else: in cobra and urfave/cli, in Go's flag
 * package, and in programs that compare the word themselves.
 */
export function commandWords({ sources, valueIn }: GoSources): Set<string> {
  const words = sources.flatMap((source) => {
    const { calls, cases, comparisons } = source.file;
    const named = [
      ...[...fieldsIn(source, 'Use'), ...fieldsIn(source, 'Name')].map(({ value }) => value),
      ...calls.filter(({ callee }) => lastName(callee) === 'NewFlagSet').map(({ values }) => values[0]),
      ...cases,
      ...comparisons.filter(({ left }) => lastName(left) === 'Args').map(({ right }) => right),
    ];
    return named.flatMap((one) => firstWord(valueIn(source, one)) ?? []);
  });
  return new Set(words);
}

/** The fields of this name in literal structs. */
export function fieldsIn({ structs }: GoSource, name: string): FieldValue[] {
  return structs.get(name) ?? [];
}

/** The value of a field in a literal struct. */
export function fieldOf({ elements }: Composite, name: string): Expression | undefined {
  return elements.find(({ key }) => key?.kind === 'name' && key.name === name)?.value;
}

function commandName(one: Composite, source: GoSource, valueIn: GoSources['valueIn']): string | undefined {
  const isCommand =
    one.type?.kind === 'selector' && lastName(one.type.of) === 'cobra' && one.type.name === 'Command';
  return isCommand ? firstWord(valueIn(source, fieldOf(one, 'Use'), one.within)) : undefined;
}

function firstWord(value: unknown): string | undefined {
  return typeof value === 'string' ? /^[A-Za-z][\w.-]*/.exec(value)?.[0] : undefined;
}

/**
 * The command whose flags a receiver holds: `start.Flags()`, or a variable with that value. Returns undefined for the flags of every
 * command, and null for the flags of an unknown command. `end`: where the call on the receiver ends.
 */
export function commandOf(
  receiver: Expression | undefined,
  end: number,
  source: GoSource,
  { valueIn }: GoSources,
): string | null | undefined {
  const { assignments } = source.file;
  const before = assignments.filter((one) => one.end <= end);
  const lastValue = (all: typeof assignments, name: string, isWanted: (value: Expression) => boolean) =>
    all.findLast(({ target, value }) => lastName(target) === name && isWanted(value))?.value;
  const isSet = (value: Expression): boolean => flagsOf(value) !== undefined;
  const set = receiver && (isSet(receiver) ? receiver : lastValue(before, lastName(receiver), isSet));
  const variable = set && flagsOf(set);
  if (variable === undefined) return undefined;
  const named = (value: Expression): string | undefined => {
    const literal = value.kind === 'unary' ? value.of : value;
    return literal.kind === 'composite' ? commandName(literal, source, valueIn) : undefined;
  };
  const isCommand = (value: Expression): boolean => named(value) !== undefined;
  const command = lastValue(before, variable, isCommand) ?? lastValue(assignments, variable, isCommand);
  return (command && named(command)) ?? null;
}

/** The variable of the command in `command.Flags()`. */
function flagsOf(value: Expression): string | undefined {
  if (value.kind !== 'call' || value.callee.kind !== 'selector' || value.callee.name !== 'Flags')
    return undefined;
  return lastName(value.callee.of) || undefined;
}

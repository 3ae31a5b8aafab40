import { CONSTANT, lineBefore, nameIn } from './composed-paths.ts';

/** How the sources compose names of objects, such as `ServiceName + "-webhook-config"`. */
export interface NameParts {
  /** The values of each constant: several packages can define a constant with the same name. */
  constants: Map<string, Set<string>>;
  composed: ComposedName[];
}

interface ComposedName {
  /** The constant to which this name is assigned. */
  name: string | undefined;
  base: string;
  rest: string;
}

/** These patterns rarely match, so the beginning of a line is examined only after a match in the line. */
const GIVEN = /=[ \t]*"([a-z0-9][a-z0-9.-]*)"/g;
const ADDED = /\+[ \t]*"([.-][a-z0-9.-]*[a-z0-9])"/g;
const DEFINED = /\b(\w+)(?:[ \t]+string)?[ \t]*$/;

export function noNameParts(): NameParts {
  return { constants: new Map(), composed: [] };
}

export function collectNameParts(text: string, { constants, composed }: NameParts): void {
  for (const { 1: value = '', index } of text.matchAll(GIVEN)) {
    const name = DEFINED.exec(lineBefore(text, index))?.[1];
    if (name !== undefined) define(constants, name, value);
  }
  for (const { 1: rest = '', index } of text.matchAll(ADDED)) {
    const before = lineBefore(text, index);
    const base = CONSTANT.exec(before);
    if (base) composed.push({ name: nameIn(before.slice(0, base.index)), base: base[1]!, rest });
  }
}

/** The names that are composed from a constant, or from a name that is itself composed. */
export function composedNames({ constants, composed }: NameParts): Set<string> {
  const once = composed.flatMap((one) => madeOf(one, constants));
  const made = new Map<string, Set<string>>();
  for (const { name, value } of once) if (name !== undefined) define(made, name, value);
  const twice = composed.flatMap((one) => madeOf(one, made));
  return new Set([...once, ...twice].map(({ value }) => value));
}

function madeOf(
  { name, base, rest }: ComposedName,
  constants: NameParts['constants'],
): { name: string | undefined; value: string }[] {
  return [...(constants.get(base) ?? [])].map((value) => ({ name, value: `${value}${rest}` }));
}

function define(constants: NameParts['constants'], name: string, value: string): void {
  constants.set(name, (constants.get(name) ?? new Set()).add(value));
}

import { isElectionSwitch, QUOTED_VARIABLE } from '../election-switch.ts';
import { fieldsIn } from './commands.ts';
import type { Expression } from './reader/nodes.ts';
import { type GoSource, type GoSources, lastName } from './sources.ts';

const VARIABLE = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*$/;

/** An expression that the leader election switch depends on. */
interface Bound {
  value: Expression | undefined;
  within: number;
}

/**
 * The environment variables from which Go sources read the leader election switch, whatever their names: those in what is assigned to the
 * manager's option, to the variable or field that it is set to, or to another name of the switch; in the definition of its flag; and in
 * the tags of such fields.
 */
export function electionVariables({ sources, valueIn }: GoSources): Set<string> {
  const found = sources.flatMap((source) => {
    const names = namesOfOption(source);
    const isBound = (name: string): boolean => names.has(name) || isElectionSwitch(name);
    const read = (one: Expression, within: number): string[] => {
      const value = valueIn(source, one, within);
      if (typeof value === 'string') return VARIABLE.test(value) ? [value] : [];
      return partsOf(one).flatMap((part) => read(part, within));
    };
    const bound = boundIn(source, isBound, (one, within) => valueIn(source, one, within));
    const own = source.file.strings.filter((text) => VARIABLE.test(text) && isElectionSwitch(text));
    return [
      ...own,
      ...bound.flatMap(({ value, within }) => (value ? read(value, within) : [])),
      ...tagsIn(source, isBound),
    ];
  });
  return new Set(found);
}

/** The names of the variables and fields to which the manager's option is set. */
function namesOfOption(source: GoSource): Set<string> {
  const names = fieldsIn(source, 'LeaderElection').map(({ value }) =>
    lastName(value.kind === 'unary' ? value.of : value),
  );
  return new Set(names.filter((name) => name !== '' && name !== 'true' && name !== 'false'));
}

function boundIn(
  source: GoSource,
  isBound: (name: string) => boolean,
  valueIn: (one: Expression, within: number) => unknown,
): Bound[] {
  const { assignments, calls } = source.file;
  const isName = (one: Expression | undefined, within: number): boolean => {
    const value = one?.kind === 'string' || one?.kind === 'name' ? valueIn(one, within) : undefined;
    return typeof value === 'string' && isElectionSwitch(value);
  };
  const mentions = (one: Expression): boolean => isBound(lastName(one.kind === 'unary' ? one.of : one));
  return [
    ...assignments.filter(({ target }) => isBound(lastName(target))),
    ...[...source.structs.keys()].filter(isBound).flatMap((name) => fieldsIn(source, name)),
    ...fieldsIn(source, 'Name')
      .filter(({ value, within }) => isName(value, within))
      .map(({ of, within }) => ({ value: of, within })),
    ...calls
      .filter(({ values, within }) => values.some((one) => isName(one, within) || mentions(one)))
      .flatMap(({ values, within }) => values.map((value) => ({ value, within }))),
  ];
}

/** Matches the name in `env:"SHOP_HA"`. */
function tagsIn({ file }: GoSource, isBound: (name: string) => boolean): string[] {
  return file.fields
    .filter(({ names }) => names.some(isBound))
    .flatMap(({ tag }) => [...tag.matchAll(QUOTED_VARIABLE)].map(([, name]) => name!));
}

function partsOf(one: Expression): Expression[] {
  switch (one.kind) {
    case 'call':
      return one.values;
    case 'binary':
      return [one.left, one.right];
    case 'unary':
      return [one.of];
    case 'composite':
      return one.elements.map(({ value }) => value);
    default:
      return [];
  }
}

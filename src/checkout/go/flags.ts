import type { Flag, Value } from '../flags.ts';
import { commandOf, fieldOf, fieldsIn } from './commands.ts';
import type { Call, Composite, Expression } from './reader/nodes.ts';
import { type GoSource, type GoSources, lastName } from './sources.ts';

/** `StringVar(&dir, "cert-dir", "/certs", …)` of Go's flag package, and `StringVarP` with a short name of pflag. */
const METHOD = /^(String|Bool|U?[Ii]nt\d*)(Var)?(P)?$/;
/** `StringFlag{Name: "cert-dir", Value: "/certs"}` of urfave/cli. */
const STRUCT = /^(String|Path|Bool|U?[Ii]nt\d*)Flag$/;

/** All flags that the sources define. */
export function definedFlags(all: GoSources): Flag[] {
  return all.sources.flatMap((source) => [
    ...source.file.calls.flatMap((call) => calledFlag(call, source, all) ?? []),
    ...fieldsIn(source, 'Name').flatMap(({ of }) => structFlag(of, source, all) ?? []),
  ]);
}

function calledFlag(call: Call, source: GoSource, all: GoSources): Flag | undefined {
  const { callee, values, within, end } = call;
  if (callee.kind !== 'selector') return undefined;
  const [isFlag, type = '', variable, short] = METHOD.exec(callee.name) ?? [];
  const first = variable === undefined ? 0 : 1;
  const initial = first + (short === undefined ? 1 : 2);
  // The usage follows the default. Calls of other libraries, such as zap.String("key", value), have fewer values.
  if (isFlag === undefined || values.length !== initial + 2) return undefined;
  const flag = all.valueIn(source, values[first], within);
  if (typeof flag !== 'string' || flag === '') return undefined;
  const command = commandOf(callee.of, end, source, all);
  const value = all.valueIn(source, values[initial], within);
  return { flag, kind: kindOf(type), value, directory: source.directory, command, by: 'call' };
}

function structFlag(one: Composite, source: GoSource, { valueIn }: GoSources): Flag | undefined {
  const [, type] = STRUCT.exec(lastName(one.type)) ?? [];
  const read = (field: Expression | undefined): Value | undefined => valueIn(source, field, one.within);
  const flag = type === undefined ? undefined : read(fieldOf(one, 'Name'));
  if (type === undefined || typeof flag !== 'string') return undefined;
  const value = read(fieldOf(one, 'Value'));
  return { flag, kind: kindOf(type), value, directory: source.directory, by: 'struct' };
}

function kindOf(type: string): Flag['kind'] {
  if (type === 'Bool') return 'boolean';
  return type === 'String' || type === 'Path' ? 'string' : 'number';
}

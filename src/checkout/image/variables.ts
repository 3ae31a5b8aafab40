import { stageHead } from './files.ts';

const INSTRUCTION = /^\s*(ENV|ARG)[ \t]+(\w+)(?:=(.*))?$/i;
const REFERENCE = /\$(?:\{(\w+)\}|(\w+))/g;

/**
 * The variables that each stage sets with ENV, in its own instructions and in those of its base stage. A value that only the build knows,
 * such as the value of an ARG without a default, is left out. `text` has each variable in an instruction of its own.
 */
export function imageVariables(text: string): Record<string, string>[] {
  const [before = '', ...stages] = text.split(/^\s*FROM\s/im);
  const global = follow(before.split('\n'), new Map(), new Map()).args;
  const named = new Map<string, Map<string, string>>();
  return stages.map((stage, index) => {
    const { base, name } = stageHead(stage);
    const { env } = follow(stage.split('\n').slice(1), new Map(named.get(base)), global);
    for (const key of [String(index), name]) if (key !== undefined) named.set(key, env);
    return Object.fromEntries(env);
  });
}

/** The variables on whose value all images that set them agree. */
export function agreedVariables(images: Record<string, string>[]): Record<string, string> {
  const byName = Map.groupBy(
    images.flatMap((variables) => Object.entries(variables)),
    ([name]) => name,
  );
  const values = [...byName].map(([name, all]) => [name, new Set(all.map(([, value]) => value))] as const);
  return Object.fromEntries(values.flatMap(([name, set]) => (set.size === 1 ? [[name, [...set][0]!]] : [])));
}

/** `env` is what the stage inherits; an ARG without a value gets the value of the same ARG before the first stage. */
function follow(
  lines: string[],
  env: Map<string, string>,
  global: ReadonlyMap<string, string>,
): { env: Map<string, string>; args: Map<string, string> } {
  const args = new Map<string, string>();
  for (const line of lines) {
    const [, instruction, name, written] = INSTRUCTION.exec(line) ?? [];
    if (instruction === undefined || name === undefined) continue;
    const known = new Map([...args, ...env]);
    const value = written === undefined ? global.get(name) : knownValue(written.trim(), known);
    const into = instruction.toUpperCase() === 'ENV' ? env : args;
    if (value === undefined) into.delete(name);
    else into.set(name, value);
  }
  return { env, args };
}

/** The value without quotes and references; undefined if it is not known. */
function knownValue(written: string, known: ReadonlyMap<string, string>): string | undefined {
  const value = written
    .replace(/^"([^"]*)"$/, '$1')
    .replace(
      REFERENCE,
      (reference, curly?: string, bare?: string) => known.get((curly ?? bare)!) ?? reference,
    );
  return /["'$\\]/.test(value) ? undefined : value;
}

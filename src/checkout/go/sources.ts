import { dirname } from 'node:path';
import type { Value } from '../flags.ts';
import { type GoModule, packageDirectory } from './go-mod.ts';
import type { Composite, Expression, GoFile } from './reader/nodes.ts';
import { Constants } from './values.ts';

/** One Go file of a checkout. */
export interface GoSource {
  /** Its path. */
  path: string;
  /** The directory of its package. */
  directory: string;
  file: GoFile;
  /** Its literal structs with a field of each name. */
  structs: ReadonlyMap<string, FieldValue[]>;
}

/** A field of a literal struct. */
export interface FieldValue {
  of: Composite;
  value: Expression;
  within: number;
}

/** The Go sources of a checkout, for questions about all of them. */
export interface GoSources {
  sources: GoSource[];
  /** The value of an expression in the file; `within`: the function that contains it. */
  valueIn(source: GoSource, expression: Expression | undefined, within?: number): Value | undefined;
}

export function goSource(path: string, file: GoFile): GoSource {
  return { path, directory: dirname(path), file, structs: structsIn(file) };
}

function structsIn({ composites }: GoFile): Map<string, FieldValue[]> {
  const structs = new Map<string, FieldValue[]>();
  for (const of of composites) {
    for (const { key, value } of of.elements) {
      if (key?.kind !== 'name') continue;
      const known = structs.get(key.name);
      const field = { of, value, within: of.within };
      if (known) known.push(field);
      else structs.set(key.name, [field]);
    }
  }
  return structs;
}

/** `modules`: those to which the sources belong. */
export function goSources(sources: GoSource[], modules: GoModule[]): GoSources {
  const directories = new Map<string, string | undefined>();
  const constants = new Constants((path) => {
    if (!directories.has(path)) directories.set(path, packageDirectory(path, modules));
    return directories.get(path);
  });
  for (const { file, directory } of sources) constants.add(file, directory);
  return {
    sources,
    valueIn: ({ file, directory }, expression, within = 0) =>
      expression && constants.valueOf(expression, { directory, file, within }),
  };
}

/** The last part of a name: `Join` in `filepath.Join`, and in `a.b().Join`. */
export function lastName(expression: Expression | undefined): string {
  return expression?.kind === 'name' || expression?.kind === 'selector' ? expression.name : '';
}

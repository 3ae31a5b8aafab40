import type { Value } from '../flags.ts';
import { added, BOOLEANS, FOREIGN, FUNCTIONS, integer, operated } from './functions.ts';
import type { Call, Expression, GoFile, Import } from './reader/nodes.ts';

/** Where an expression stands: what its names mean depends on it. */
export interface Place {
  /** The directory of the package. */
  directory: string;
  file: GoFile;
  /** The function of the file; 0 for none. */
  within: number;
}

interface Definition {
  value: Expression;
  place: Place;
}

/** A name with more definitions than these has different values, and none that is known. */
const MOST_DEFINITIONS = 20;
/** No program composes a value in more steps. */
const MOST_STEPS = 30;

/** The constants of a checkout, and the values of expressions with them. Add all files before the first question. */
export class Constants {
  /** What is defined outside functions, by directory. */
  readonly #ofPackages = new Definitions();
  readonly #ofFunctions = new Definitions();
  /** What is assigned to the fields of structs, by directory. */
  readonly #ofFields = new Definitions();
  readonly #known = new Map<Definition, Value | undefined>();
  /** For each file, the paths of the packages that it imports, by their names in it. */
  readonly #imports = new Map<GoFile, Map<string, string>>();
  readonly #packages = new Map<string, string>();
  readonly #directoryOf: (path: string) => string | undefined;

  /** `directoryOf`: the directory of a package that the checkout contains or replaces, by its import path. */
  constructor(directoryOf: (path: string) => string | undefined) {
    this.#directoryOf = directoryOf;
  }

  add(file: GoFile, directory: string): void {
    this.#packages.set(directory, file.package);
    for (const { target, value, within } of file.assignments) {
      const definition = { value, place: { directory, file, within } };
      if (target.kind === 'selector') this.#ofFields.add(directory, target.name, definition);
      else if (target.kind !== 'name') continue;
      else if (within === 0) this.#ofPackages.add(directory, target.name, definition);
      else this.#ofFunctions.add(file, `${target.name} ${within}`, definition);
    }
    for (const { elements, within } of file.composites)
      for (const { key, value } of elements)
        if (key?.kind === 'name')
          this.#ofFields.add(directory, key.name, { value, place: { directory, file, within } });
  }

  /** What Go would compute; undefined if that is not constant, or is defined elsewhere. */
  valueOf(expression: Expression, place: Place, steps = MOST_STEPS): Value | undefined {
    if (steps === 0) return undefined;
    const value = (one: Expression): Value | undefined => this.valueOf(one, place, steps - 1);
    switch (expression.kind) {
      case 'string':
        return expression.value;
      case 'number':
        return integer(expression.text);
      case 'name':
        return BOOLEANS.get(expression.name) ?? this.#meaning(this.#named(expression.name, place), steps);
      case 'selector':
        return this.#selected(expression, place, steps);
      case 'unary':
        return operated(expression.operator, value(expression.of));
      case 'binary':
        return expression.operator === '+'
          ? added(value(expression.left), value(expression.right))
          : undefined;
      case 'call':
        return this.#called(expression, place, value);
      default:
        return undefined;
    }
  }

  /** A name of the function, or else of the package. */
  #named(name: string, { directory, file, within }: Place): Definition[] {
    const local = this.#ofFunctions.of(file, `${name} ${within}`);
    return local.length > 0 ? local : this.#ofPackages.of(directory, name);
  }

  /** A name of another package, or a field of a struct, whose type is one of this package or of an imported one. */
  #selected({ of, name }: Expression & { kind: 'selector' }, place: Place, steps: number): Value | undefined {
    const path = this.#packagePath(of, place);
    if (path !== undefined) {
      const all = this.#ofPackages.of(this.#directoryOf(path), name);
      return this.#meaning(all, steps) ?? FOREIGN.get(`${path}.${name}`);
    }
    const own = this.#ofFields.of(place.directory, name);
    const places = own.length > 0 ? [] : place.file.imports.map((one) => this.#directoryOf(one.path));
    return this.#meaning([...own, ...places.flatMap((one) => this.#ofFields.of(one, name))], steps);
  }

  #packagePath(of: Expression, { file }: Place): string | undefined {
    if (of.kind !== 'name') return undefined;
    const known =
      this.#imports.get(file) ?? new Map(file.imports.map((one) => [this.#nameOf(one), one.path]));
    this.#imports.set(file, known);
    return known.get(of.name);
  }

  #nameOf({ alias, path }: Import): string {
    return alias ?? (this.#packages.get(this.#directoryOf(path) ?? '') || usualName(path));
  }

  /** A name with different values has none that is known. */
  #meaning(definitions: Definition[], steps: number): Value | undefined {
    const all = definitions.map((one) => this.#defined(one, steps));
    return new Set(all).size === 1 ? all[0] : undefined;
  }

  /** Each value is computed once. One that refers to itself, as in `text = text + "."`, has none. */
  #defined(definition: Definition, steps: number): Value | undefined {
    if (this.#known.has(definition)) return this.#known.get(definition);
    this.#known.set(definition, undefined);
    const value = this.valueOf(definition.value, definition.place, steps - 1);
    this.#known.set(definition, value);
    return value;
  }

  #called(
    { callee, values }: Call,
    place: Place,
    value: (one: Expression) => Value | undefined,
  ): Value | undefined {
    if (callee.kind === 'name' && callee.name === 'string' && values.length === 1) return value(values[0]!);
    if (callee.kind !== 'selector') return undefined;
    const path = this.#packagePath(callee.of, place);
    return FUNCTIONS.get(`${path}.${callee.name}`)?.(values.map(value));
  }
}

/** Definitions by place and name. */
class Definitions {
  readonly #all = new Map<unknown, Map<string, Definition[]>>();

  add(place: unknown, name: string, definition: Definition): void {
    if (!mayBeConstant(definition.value)) return;
    const there = this.#all.get(place) ?? new Map<string, Definition[]>();
    this.#all.set(place, there);
    const known = there.get(name);
    if (known === undefined) there.set(name, [definition]);
    else if (known.length < MOST_DEFINITIONS) known.push(definition);
  }

  of(place: unknown, name: string): Definition[] {
    return this.#all.get(place)?.get(name) ?? [];
  }
}

/** Most expressions have no value, and are not kept. */
function mayBeConstant({ kind }: Expression): boolean {
  return kind !== 'other' && kind !== 'composite';
}

/** The name of a package that is not in the checkout: the last part of its path, without its version. */
function usualName(path: string): string {
  const parts = path.split('/');
  const last = parts.length > 1 && /^v\d+$/.test(parts.at(-1)!) ? parts.at(-2)! : parts.at(-1)!;
  return last.replace(/\.v\d+$/, '').replace(/^go-/, '');
}

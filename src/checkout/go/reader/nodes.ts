/**
 * An expression or a type of Go source. What no question of devloop's needs, such as a type without a name, is `other`. An element stands for
 * its list; `index`: which one, if that is a number.
 */
export type Expression =
  | { kind: 'string'; value: string }
  | { kind: 'number'; text: string }
  | { kind: 'name'; name: string; index?: string }
  | { kind: 'selector'; of: Expression; name: string; index?: string }
  | Call
  | Composite
  | { kind: 'binary'; operator: string; left: Expression; right: Expression }
  | { kind: 'unary'; operator: string; of: Expression }
  | { kind: 'other' };

/** `callee(values)`, also a conversion. */
export interface Call {
  kind: 'call';
  callee: Expression;
  values: Expression[];
  /** Which function of the file contains it, counted from 1; 0 for none. */
  within: number;
  /** Where it ends in the text of the file. */
  end: number;
}

/** `Type{key: value}`; within a list or a map, the type can be left out. */
export interface Composite {
  kind: 'composite';
  type: Expression | undefined;
  elements: Element[];
  within: number;
}

export interface Element {
  key: Expression | undefined;
  value: Expression;
}

/** A field of a struct. An embedded type has no name. */
export interface Field {
  names: string[];
  tag: string;
}

/** A function or method. */
export interface Declared {
  name: string;
  /** Of a method, one. */
  receiver: Parameter[];
  parameters: Parameter[];
  results: Parameter[];
}

/** `a, b Type`; names can be left out. */
export interface Parameter {
  names: string[];
  type: Expression;
}

/** `target = value`, as a declaration or a statement, at the top of a file or in a function. */
export interface Assignment {
  target: Expression;
  value: Expression;
  within: number;
  /** Where it ends in the text of the file. */
  end: number;
}

/** What one Go file contains, in the order of its text. */
export interface GoFile {
  /** The name in its package clause; '' for a file without one. */
  package: string;
  imports: Import[];
  /** The expression of `//go:build`; '' for none. */
  constraint: string;
  /** The values of all literal strings, without imports and the tags of fields. */
  strings: string[];
  calls: Call[];
  composites: Composite[];
  assignments: Assignment[];
  /** The fields of all structs. */
  fields: Field[];
  /** Its functions in order; `within` counts them from 1. */
  functions: Declared[];
  /** The values of `case` clauses. */
  cases: Expression[];
  comparisons: { left: Expression; right: Expression }[];
  /** All `a + b`, of several the whole. */
  sums: (Expression & { within: number })[];
}

export interface Import {
  path: string;
  /** The name before the path; undefined if there is none. */
  alias: string | undefined;
}

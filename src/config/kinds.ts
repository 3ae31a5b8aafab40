import type { Form } from './forms.ts';
import type { RouteChoice } from './route-choice.ts';

/** What a setting takes. `T` is the type of its value once it is read. */
export interface Kind<T> {
  shape: Shape;
  /** Only the compiler uses this. */
  readonly reads?: T;
}

/**
 * What is written in devloop.yaml. Each shape has a reader for the file (values.ts), one for flags and variables (from-text.ts) and a JSON Schema
 * (json-schema.ts).
 */
export type Shape =
  | { is: 'text'; form?: Form }
  | { is: 'texts' }
  /** One text of this form, or a list of them. */
  | { is: 'one or more'; form: Form }
  /** From 1. */
  | { is: 'number'; most: number }
  | { is: 'choice'; choices: readonly string[] }
  | { is: 'route' }
  /** Words, or one text that is split into words. */
  | { is: 'command' }
  | { is: 'variables' };

export const TEXT: Kind<string> = { shape: { is: 'text' } };
export const TEXTS: Kind<string[]> = { shape: { is: 'texts' } };
export const ROUTE: Kind<RouteChoice> = { shape: { is: 'route' } };
export const COMMAND: Kind<string[]> = { shape: { is: 'command' } };
export const VARIABLES: Kind<Record<string, string>> = { shape: { is: 'variables' } };

export function one(form: Form): Kind<string> {
  return { shape: { is: 'text', form } };
}

export function oneOrMore(form: Form): Kind<string[]> {
  return { shape: { is: 'one or more', form } };
}

export function upTo(most: number): Kind<number> {
  return { shape: { is: 'number', most } };
}

export function choice<T extends string>(choices: readonly T[]): Kind<T> {
  return { shape: { is: 'choice', choices } };
}

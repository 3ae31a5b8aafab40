import { posix } from 'node:path';

/** A path that the sources compose from a constant and more, such as `MountBase + "/tls"`. */
export interface ComposedPath {
  /** The constant to which this path is assigned. */
  name: string | undefined;
  base: string;
  rest: string;
}

/** These patterns rarely match, so the beginning of a line is examined only after a match in the line. */
const ADDED = /\+[ \t]*"(\/[^"\s]+)"/g;
const JOINED = /\b(?:file)?path\.Join\(\s*(?:\w+\.)?([A-Za-z_]\w*)((?:\s*,\s*"[^"\n]*")+)\s*,?\s*\)/g;
export const CONSTANT = /\b(?:\w+\.)?([A-Za-z_]\w*)[ \t]*$/;
const NAMED = /\b(\w+)(?:[ \t]+string)?[ \t]*:?=[ \t]*$/;

export function collectComposed(text: string, composed: ComposedPath[]): void {
  for (const { 1: rest = '', index } of text.matchAll(ADDED)) {
    const before = lineBefore(text, index);
    const base = CONSTANT.exec(before);
    if (base) composed.push({ name: nameIn(before.slice(0, base.index)), base: base[1]!, rest });
  }
  for (const { 1: base = '', 2: parts = '', index } of text.matchAll(JOINED))
    composed.push({ name: nameIn(lineBefore(text, index)), base, rest: `/${joinedParts(parts)}` });
}

/** How much of a line is examined: only generated files have longer lines. */
const LONGEST_LINE = 200;

export function lineBefore(text: string, index: number): string {
  const before = text.slice(Math.max(0, index - LONGEST_LINE), index);
  return before.slice(before.lastIndexOf('\n') + 1);
}

/** The constant or variable to which the rest of a line is assigned. */
export function nameIn(before: string): string | undefined {
  return NAMED.exec(before)?.[1];
}

/** Joins the quoted arguments of a call to one path. */
export function joinedParts(parts: string): string {
  return posix.join(...(parts.match(/[^",\s]+/g) ?? []));
}

/** The limit on steps: no checkout composes a path in more steps. */
const MOST_STEPS = 8;

/**
 * All paths whose constant is known. A path can be composed from another one, in any order, so a name to which a path is assigned becomes a
 * known constant, too.
 */
export function resolveComposed(composed: ComposedPath[], constants: Map<string, string>): string[] {
  const found: string[] = [];
  let left = composed;
  for (let step = 0; step < MOST_STEPS && left.length > 0; step++) {
    const known = new Set(left.filter(({ base }) => constants.has(base)));
    for (const { name, base, rest } of known) {
      const path = posix.join(constants.get(base)!, rest);
      found.push(path);
      if (name !== undefined && !constants.has(name)) constants.set(name, path);
    }
    if (known.size === 0) break;
    left = left.filter((one) => !known.has(one));
  }
  return found;
}

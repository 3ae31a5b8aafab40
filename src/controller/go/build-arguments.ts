import { readBuildText } from './build-text.ts';
import { hasShellCall } from './shell-calls.ts';
import { expandKnown } from './variables.ts';
import { withoutQuotes, wordsOf } from './words.ts';

const FLAG = /--build-arg[ =]/;
const ARGUMENT = /^(["']?)(\w+)=(.*)\1$/;
/** `ARG NAME` or `ARG NAME=default`. */
const DECLARED = /^([ \t]*ARG[ \t]+(\w+))(?:=.*)?[ \t]*$/gim;

/**
 * The build arguments that a Makefile passes to images: `docker build --build-arg VERSION=$(VERSION)`. Arguments that several builds set to
 * different values are left out, and so are arguments with unknown variables.
 */
export function buildArguments(makefile: string): Map<string, string> {
  const { lines, variables } = readBuildText(makefile);
  const given = new Map<string, string>();
  const unclear = new Set<string>();
  for (const written of lines.flatMap((line) => expandKnown(line, variables).split(FLAG).slice(1))) {
    const [, , name, quoted = ''] = ARGUMENT.exec(wordsOf(written)[0] ?? '') ?? [];
    const value = withoutQuotes(quoted);
    if (name === undefined || value === '') continue;
    if (isUnknown(value) || (given.get(name) ?? value) !== value) unclear.add(name);
    else given.set(name, value);
  }
  for (const name of unclear) given.delete(name);
  return given;
}

/** A call of make's shell function is evaluated later, so its value does not count as unknown. */
function isUnknown(value: string): boolean {
  return value.includes('$') && !hasShellCall(value);
}

/** Sets the given values in the ARG instructions of a Dockerfile. */
export function withArguments(dockerfile: string, given: ReadonlyMap<string, string>): string {
  return dockerfile.replace(DECLARED, (written, declaration: string, name: string) => {
    const value = given.get(name);
    return value === undefined ? written : `${declaration}="${value}"`;
  });
}

import { posix } from 'node:path';
import { readBuildText } from './build-text.ts';
import { hasShellCall } from './shell-calls.ts';
import { expandKnown } from './variables.ts';
import { withoutQuotes, wordsOf } from './words.ts';

/** A command of a Makefile that builds an image: `docker build --build-arg VERSION=$(VERSION) -f build/Dockerfile .` */
export interface ImageBuild {
  /** Relative to the root; undefined if the command names none, or reads it from stdin. */
  dockerfile: string | undefined;
  given: Arguments;
}

/** The values of build arguments, without those that contain unknown variables. */
export type Arguments = ReadonlyMap<string, string>;

const FLAG = /--build-arg[ =]/;
const FILE = /\s(?:-f|--file)[ =]["']?([\w./-]*[\w.])["']?(?=\s|$)/;
/** Other commands of the line, such as `rm -f`. */
const BEFORE_BUILD = /^.*\bbuild(?=\s)/;
const ARGUMENT = /^(["']?)(\w+)=(.*)\1$/;
/** `ARG NAME` or `ARG NAME=default`. */
const DECLARED = /^([ \t]*ARG[ \t]+(\w+))(?:=.*)?[ \t]*$/gim;

/** The commands of a Makefile that pass build arguments to images. */
export function imageBuilds(makefile: string): ImageBuild[] {
  const { lines, variables } = readBuildText(makefile);
  return lines.flatMap((line) => {
    const [command, ...written] = expandKnown(line, variables).split(FLAG);
    if (written.length === 0) return [];
    const [, file] = FILE.exec([command!.replace(BEFORE_BUILD, ''), ...written].join(' ')) ?? [];
    return [{ dockerfile: file && posix.normalize(file), given: new Map(written.flatMap(argumentIn)) }];
  });
}

/** The first word; empty if it is not an argument. An argument with unknown variables has the value ''. */
function argumentIn(written: string): [name: string, value: string][] {
  const [, , name, quoted = ''] = ARGUMENT.exec(wordsOf(written)[0] ?? '') ?? [];
  const value = withoutQuotes(quoted);
  if (name === undefined || value === '') return [];
  return [[name, isUnknown(value) ? '' : value]];
}

/** What all these builds agree on. */
export function agreedArguments(builds: Pick<ImageBuild, 'given'>[]): Arguments {
  const values = Map.groupBy(
    builds.flatMap(({ given }) => [...given]),
    ([name]) => name,
  );
  return new Map(
    [...values].flatMap(([name, all]) => {
      const [first, ...others] = new Set(all.map(([, value]) => value));
      return first && others.length === 0 ? [[name, first]] : [];
    }),
  );
}

/** A call of make's shell function is evaluated later, so its value does not count as unknown. */
function isUnknown(value: string): boolean {
  return value.includes('$') && !hasShellCall(value);
}

/** Sets the given values in the ARG instructions of a Dockerfile. */
export function withArguments(dockerfile: string, given: Arguments): string {
  return dockerfile.replace(DECLARED, (written, declaration: string, name: string) => {
    const value = given.get(name);
    return !value ? written : `${declaration}="${value}"`;
  });
}

import { basename, join } from 'node:path/posix';
import type { Dockerfile } from '../image/dockerfile.ts';
import { type BuildText, readBuildText } from '../make/build-text.ts';
import { assign, expandKnown, expandVariables } from '../make/variables.ts';
import { endOfCommand, withoutQuotes, wordsOf } from '../make/words.ts';
import { type GoCheckout, moduleOf } from './checkout.ts';
import { isIn } from './go-mod.ts';

/** One package of a `go build -o <output> <package>`, `go install <package>` or `go run <package>` in a Dockerfile or Makefile. */
export interface BuildRecipe {
  /** './cmd'; or a pattern, './cmd/...', until it is known which main packages there are. */
  package: string;
  /**
   * The file name of -o, without variables that are not known, and without a system or architecture (`manager_${ARCH}`). If -o names no
   * file, the name that the go tool chooses.
   */
  output: string | undefined;
  /** The value of -tags, separated by commas; '' for none, and for tags that make or a shell would have to compute. */
  tags: string;
  /** The experiments of the Go compiler with which it builds (GOEXPERIMENT). */
  experiments?: string;
  /** The value of -ldflags, in which known variables are expanded. */
  linkerFlags: string;
  /** The directory of the Makefile, in which make runs the commands of `$(shell …)`. */
  madeIn?: string;
  /**
   * The script that contains the recipe, relative to the directory of its caller; absent for a recipe of the Dockerfile or Makefile itself.
   */
  script?: string;
}

/** A Dockerfile with its builds of Go programs. */
export interface GoDockerfile extends Dockerfile {
  recipes: BuildRecipe[];
}

/** Flags of `go build`, `go install` and `go run` that take a value. */
const WITH_VALUE = new Set([
  ...['-C', '-o', '-p', '-ldflags', '-gcflags', '-asmflags', '-gccgoflags', '-tags', '-mod', '-modfile'],
  ...['-installsuffix', '-buildmode', '-compiler', '-overlay', '-pgo', '-pkgdir', '-toolexec', '-exec'],
  ...['-covermode', '-coverpkg', '-debug-actiongraph', '-debug-runtime-trace', '-debug-trace'],
]);

/** The go tool can be a variable: `$(GO) build`, `${GO_CMD} build`. */
const GO_BUILD = /(?:\bgo|\$[({]GO\w*[)}])\s+(build|install|run)\b/g;
const BEGINS_BUILD = /^(?:\w+=\S*\s+)*(?:go|\$[({]GO\w*[)}])\s+(?:build|install|run)\b/;
/** `GOBUILD = $(GO) build` counts only where the variable is used. If the only space were after the `=`, a shell would run the build. */
const NAMED_COMMAND =
  /^ *(?:(?:export|override|private)\s+)*\w+(?:[ \t]*[?+:]+=[ \t]*|[ \t]+=[ \t]*|=)["']?(?:go|\$[({]GO\w*[)}])\s+(?:build|install|run)\b/;
/** A word that is one variable, which can contain several flags or packages. */
const WHOLE_VARIABLE = /^\$(?:\((\w+)\)|\{(\w+)\}|(\w+))$/;
/** The limit for one command: variables can refer to each other in a cycle. */
const MOST_WORDS = 200;
/** A change of directory, as in `cd tools && go build` or `pushd tools; go build`. The last one of a command counts. */
const ELSEWHERE = /\b(?:cd|pushd)\s+("[^"]*"|'[^']*'|[^\s;&|"']+)/g;
/** The directory in which make or a shell starts. */
const HERE = /\$(?:\((?:CURDIR|PWD|shell pwd)\)|\{(?:CURDIR|PWD)\}|PWD\b|\(pwd\))/g;
/** `$*` is what the `%` of a pattern rule stands for, usually an architecture. */
const VARIABLE = /[-_.]?\$(?:\(@?\w+\)|\{\w+\}|@|\w+|\*)/g;
const PLATFORM =
  /[-_.](?:linux|darwin|windows|freebsd|amd64|x86_64|arm64|aarch64|arm|armv7|s390x|ppc64le|386)(?=$|[-_.])/g;
const COMMENT = /^\s*#/;
/** A rule of a Makefile. If it has a single target, its commands can call that target `$@`. */
const RULE = /^[^\s:=#][^:=#]*:(?!=)/;
const SINGLE_TARGET = /^([^\s:=#%.][^\s:=#%]*)\s*:/;

/** The builds in a Dockerfile or Makefile of a Go module, except those whose package only make or a shell can compute. */
export function buildRecipes(text: string, module = ''): BuildRecipe[] {
  const read = readBuildText(text);
  const commands = buildCommands(read.variables);
  const isUsed = (name: string): boolean => text.includes(`$(${name})`) || text.includes(`\${${name}}`);
  let { variables } = read;
  return read.lines.flatMap((written) => {
    if (COMMENT.test(written) || NAMED_COMMAND.test(written)) return [];
    const [, assigned = ''] = ASSIGNS.exec(written) ?? [];
    if (commands.has(assigned) && isUsed(assigned)) return [];
    if (!written.startsWith('\t')) variables = variablesOfRule(written, read) ?? variables;
    const line = expandKnown(written, commands);
    return [...line.matchAll(GO_BUILD)].flatMap((match) => {
      const [, place] = [...line.slice(0, match.index).matchAll(ELSEWHERE)].at(-1) ?? [];
      const from = match.index + match[0].length;
      const words = line.slice(from, endOfCommand(line, from));
      const command = { runs: match[1] === 'run', words, directory: place ?? '.' };
      const experiments = experimentsOf(line.slice(0, match.index), variables);
      return readCommand(command, module, variables).map((recipe) => ({ ...recipe, ...experiments }));
    });
  });
}

/** `GOEXPERIMENT=a go build`, or a variable of the Dockerfile or Makefile. */
function experimentsOf(before: string, variables: Map<string, string>): Pick<BuildRecipe, 'experiments'> {
  const [, own] = [...expandKnown(before, variables).matchAll(/\bGOEXPERIMENT=["']?([\w,]+)/g)].at(-1) ?? [];
  const set = own ?? withoutQuotes(expandVariables(variables.get('GOEXPERIMENT') ?? '', variables) ?? '');
  return set === '' ? {} : { experiments: set };
}

/** A shell would run the build in `NAME= go build`, and make would not; only make uses the variable later. */
const ASSIGNS = /^ *(\w+)[ \t]*[?+:]*=/;

/** The variables that stand for the beginning of a build command: `$(GOBUILD) -o bin/manager .` */
function buildCommands(variables: Map<string, string>): Map<string, string> {
  const plain = [...variables].map(([name, value]) => [name, withoutQuotes(value)] as const);
  return new Map(plain.filter(([, value]) => BEGINS_BUILD.test(value)));
}

/** The variables in the rule that begins on this line; undefined if no rule does. */
function variablesOfRule(line: string, { variables, ofTargets }: BuildText): Map<string, string> | undefined {
  const rule = line.includes(':') ? RULE.exec(expandKnown(line, variables)) : null;
  if (!rule) return undefined;
  const [, target] = SINGLE_TARGET.exec(rule[0]) ?? [];
  if (target === undefined) return variables;
  const own = new Map([...variables, ['@', target], ['@F', basename(target)]]);
  for (const one of ofTargets) if (one.target === target) assign(one.assignment, own);
  return own;
}

/** A command of the go tool: the words after its name. */
interface Command {
  runs: boolean;
  words: string;
  directory: string;
}

function readCommand(command: Command, module: string, variables: Map<string, string>): BuildRecipe[] {
  const { flags, words } = readTokens(command.words, variables);
  const pathsOf = (word: string): string => unquoted(expandKnown(word, variables)).replaceAll(HERE, '.');
  const place = join(pathsOf(command.directory), pathsOf(flags.get('-C') ?? '.'));
  const isHere = (name: string): boolean => place === '.' || isIn(name, module);
  const named = namedPackages(words)
    .map(pathsOf)
    .map((name) => (isHere(name) ? name : join(place, name)));
  // What follows the package of `go run` is for the program.
  const targets = (command.runs ? named.slice(0, 1) : named).filter(isPlain);
  const packages = Map.groupBy(targets, (name) => packageOf(name, module));
  const file = packages.size > 1 ? undefined : fileOf(expandKnown(flags.get('-o') ?? '', variables));
  const tags = tagsOf(expandVariables(flags.get('-tags') ?? '', variables) ?? '');
  const linkerFlags = expandKnown(flags.get('-ldflags') ?? '', variables);
  return [...packages].map(([name, [written]]) => {
    const output = file ?? (command.runs ? '' : ownName(written!, module));
    return { package: name, output: output || undefined, tags, linkerFlags };
  });
}

/** The packages in front of a redirection or a comment. */
function namedPackages(words: string[]): string[] {
  const end = words.findIndex((word) => /^[\d&]*[<>]|^#/.test(word));
  const named = end === -1 ? words : words.slice(0, end);
  return named.length === 0 ? ['.'] : named;
}

/** The name that the go tool gives a program without -o; '' if it is not known. */
function ownName(written: string, module: string): string {
  if (isPattern(written)) return '';
  const name = packageOf(written, module);
  const [file] = /[^/*]+(?=\.go$)/.exec(written) ?? [];
  return file ?? basename(name === '.' ? module.replace(/\/v\d+$/, '') : name);
}

function isPattern(goPackage: string): boolean {
  return goPackage.includes('...') || (goPackage.includes('*') && !goPackage.endsWith('.go'));
}

function unquoted(written: string): string {
  return written.replace(/["']/g, '');
}

/**
 * The file name of -o. Undefined if -o is missing or names a directory, into which the go tool writes a program with the package's name.
 */
function fileOf(written: string): string | undefined {
  const path = unquoted(written);
  if (path === '' || /(?:^|\/)\.{0,2}$/.test(path)) return undefined;
  return path.replace(/^.*\//, '').replace(VARIABLE, '').replaceAll(PLATFORM, '');
}

/** The go tool reads no flags after the first package. Variables can hold flags or packages: `go build $(BUILD_FLAGS) …`. */
function readTokens(
  written: string,
  variables: Map<string, string>,
): { flags: Map<string, string>; words: string[] } {
  const flags = new Map<string, string>();
  const words: string[] = [];
  const tokens = wordsOf(written);
  for (let left = MOST_WORDS; tokens.length > 0; ) {
    const token = tokens.shift()!;
    const more = left-- > 0 ? wordsOfVariable(token, variables) : undefined;
    const [flag, value] = flagOf(token);
    // A variable that is not known can hold flags.
    const isFlag = flag.startsWith('-') && words.every((word) => word.includes('$'));
    if (more) tokens.unshift(...more);
    else if (!isFlag) words.push(token);
    else flags.set(flag, value ?? (WITH_VALUE.has(flag) ? (tokens.shift() ?? '') : ''));
  }
  return { flags, words };
}

/** The words in a variable or function; undefined for a word that is not a known variable or function. */
function wordsOfVariable(token: string, variables: Map<string, string>): string[] | undefined {
  const [whole, round, curly, bare] = WHOLE_VARIABLE.exec(token) ?? [];
  const value = whole ? variables.get(round ?? curly ?? bare!) : expandedFunction(token, variables);
  // A shell removes the quotes around the flags when it sets the variable.
  return value === undefined ? undefined : wordsOf(value.replace(/^(["'])(-.*)\1$/, '$2'));
}

function expandedFunction(token: string, variables: Map<string, string>): string | undefined {
  const value = token.startsWith('$(') ? expandKnown(token, variables) : token;
  return value === token ? undefined : value;
}

/** A flag has one dash or two, and its value after a `=` or in the next token. */
function flagOf(token: string): [flag: string, value?: string] {
  const parts = /^--?(\w[\w-]*)(?:=(.*))?$/s.exec(token);
  if (!parts) return [token];
  return parts[2] === undefined ? [`-${parts[1]}`] : [`-${parts[1]}`, parts[2]];
}

/** The tags, separated by commas. Old builds separate them with spaces. */
function tagsOf(text: string): string {
  const tags = text
    .replace(/["']/g, '')
    .split(/[\s,]+/)
    .filter((tag) => tag !== '');
  return tags.every((tag) => /^[\w.]+$/.test(tag)) ? tags.join() : '';
}

function isPlain(token: string): boolean {
  return /^[\w./*-]+$/.test(token) && !token.startsWith('/') && !token.startsWith('..');
}

/** 'cmd/main.go', 'cmd/*.go', './cmd', 'cmd/' and '<module>/cmd' all name './cmd'. */
export function packageOf(token: string, module: string): string {
  const directory = (isIn(token, module) ? token.slice(module.length + 1) : token)
    .replace(/(^|\/)[^/]*\.go$/, '')
    .replace(/^(\.\/)+/, '')
    .replace(/\/$/, '');
  return directory === '' || directory === '.' ? '.' : `./${directory}`;
}

/**
 * Replaces each pattern (`./cmd/...`) by a recipe for each main package that it matches. These recipes come last: a command that names a
 * package is a better clue to how that package is built.
 */
export function withoutPatterns(recipes: BuildRecipe[], checkout: GoCheckout): BuildRecipe[] {
  const patterns = recipes.filter((recipe) => isPattern(recipe.package));
  const matched = patterns.flatMap((recipe) =>
    mainsNamed(recipe.package, checkout).map((name) => ({
      ...recipe,
      package: name,
      output: name === '.' ? undefined : basename(name),
    })),
  );
  return [...recipes.filter((recipe) => !patterns.includes(recipe)), ...matched];
}

/** The main packages that an argument of `go build` names: one package, or a pattern. A pattern does not match packages of other modules. */
export function mainsNamed(written: string, { root, mains, modules }: GoCheckout): string[] {
  if (!isPattern(written)) return mains.map((main) => main.package).filter((name) => name === written);
  const parts = written.split('/');
  const begin = parts.slice(0, parts.findIndex(isPattern));
  const module = moduleOf(join(root, ...begin), modules);
  const expression = written.replace(/\/\.\.\.$|\.\.\.|\*|\./g, (part) => MATCHES[part]!);
  const fits = new RegExp(`^${expression}$`);
  const inModule = mains.filter((main) => main.module.directory === module?.directory);
  return inModule.map((main) => main.package).filter((name) => fits.test(name));
}

/** `...` matches any path, and a shell's `*` matches one part of a path. */
const MATCHES: Record<string, string> = { '/...': '(?:/.+)?', '...': '.*', '*': '[^/]*', '.': '\\.' };

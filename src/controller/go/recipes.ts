import { basename, join } from 'node:path/posix';
import { isIn } from './checkout.ts';
import { type LinkerFlags, readLinkerFlags } from './linker-flags.ts';
import { buildVariables, expandKnown, expandVariables } from './variables.ts';

/** One `go build -o <output> <package>` (or `go run <package>`) in a Dockerfile or Makefile. */
export interface BuildRecipe {
  /** './cmd' */
  package: string;
  /** The file name of -o, without variables that are not known, and without a system or architecture (`manager_${ARCH}`). */
  output: string | undefined;
  /** The value of -tags, separated by commas; '' for none, and for tags that make or a shell would have to compute. */
  tags: string;
  /** The value of -ldflags. */
  linker: LinkerFlags;
  /** The script that has it, relative to the directory of what calls it; absent for a recipe of the Dockerfile or Makefile itself. */
  script?: string;
}

/** Flags of `go build` that take a value. */
const WITH_VALUE = new Set([
  ...['-C', '-o', '-ldflags', '-gcflags', '-asmflags', '-gccgoflags', '-tags', '-mod', '-modfile', '-p'],
  ...['-installsuffix', '-buildmode', '-compiler', '-overlay', '-pgo', '-pkgdir', '-toolexec'],
]);

/** The go tool can be a variable: `$(GO) build`, `${GO_CMD} build`. */
const GO_BUILD =
  /(?:\bgo|\$[({]GO\w*[)}])\s+(?:build|run)\b((?:"[^"\n]*"|'[^'\n]*'|\$\((?:[^()\n]|\([^()\n]*\))*\)|[^\n;&|])*)/g;
const BEGINS_BUILD = /^(?:go|\$[({]GO\w*[)}])\s+(?:build|run)\b/;
/** `GOBUILD = $(GO) build`: it counts where it is used. With a space behind the `=` alone, a shell runs the build. */
const NAMED_COMMAND =
  /^(?:export\s+)?\w+(?:[ \t]*[?+:]+=[ \t]*|[ \t]+=[ \t]*|=)["']?(?:go|\$[({]GO\w*[)}])\s+(?:build|run)\b/;
/** A word of a command. Quotes, and what make or a shell evaluates, can contain spaces. */
const WORD = /(?:[^\s"'$]|"[^"]*"|'[^']*'|\$\((?:[^()]|\([^()]*\))*\)|\$)+/g;
/** A word that is one variable, which can contain several flags. */
const WHOLE_VARIABLE = /^\$(?:\((\w+)\)|\{(\w+)\})$/;
/** `cd tools && go build`, `pushd tools; go build`: the last one counts. */
const ELSEWHERE = /\b(?:cd|pushd)\s+("[^"]*"|'[^']*'|[^\s;&|"']+)/g;
/** `$*` is what the `%` of a pattern rule stands for, mostly an architecture. */
const VARIABLE = /[-_.]?\$(?:\(\w+\)|\{\w+\}|\w+|\*)/g;
const PLATFORM =
  /[-_.](?:linux|darwin|windows|freebsd|amd64|x86_64|arm64|aarch64|arm|armv7|s390x|ppc64le|386)(?=$|[-_.])/g;
const COMMENT = /^\s*#/;
/** A rule of a Makefile; its recipe names the target `$@`. */
const RULE = /^([^\s:=#$%]+)\s*:(?!=)/;

/** The builds in a Dockerfile or Makefile of a Go module, except those whose package only make or a shell can compute. */
export function buildRecipes(text: string, module = ''): BuildRecipe[] {
  const joined = text.replace(/\\\r?\n/g, ' ');
  const variables = buildVariables(joined);
  const commands = buildCommands(variables);
  return joined.split('\n').flatMap((written) => {
    if (COMMENT.test(written) || NAMED_COMMAND.test(written)) return [];
    if (!written.startsWith('\t')) startRule(written, variables);
    const line = expandKnown(written, commands);
    return [...line.matchAll(GO_BUILD)].flatMap((match) => {
      const [, place] = [...line.slice(0, match.index).matchAll(ELSEWHERE)].at(-1) ?? [];
      return readRecipe(match[1]!, { module, directory: unquoted(place ?? '.') }, variables);
    });
  });
}

/** The variables that stand for the begin of a build: `$(GOBUILD) -o bin/manager .` */
function buildCommands(variables: Map<string, string>): Map<string, string> {
  const plain = [...variables].map(([name, value]) => [name, value.replace(/^(["'])(.*)\1$/, '$2')] as const);
  return new Map(plain.filter(([, value]) => BEGINS_BUILD.test(value)));
}

function startRule(line: string, variables: Map<string, string>): void {
  const target = line.includes(':') && RULE.exec(expandKnown(line, variables))?.[1];
  if (!target) return;
  variables.set('@', target);
  variables.set('@F', basename(target));
}

function readRecipe(
  tail: string,
  { module, directory }: { module: string; directory: string },
  variables: Map<string, string>,
): BuildRecipe[] {
  const { flags, words } = readTokens(withFlagsOfVariables(wordsOf(tail), variables));
  const place = join(expandKnown(directory, variables), expandKnown(flags.get('-C') ?? '.', variables));
  const written = unquoted(expandKnown(words[0] ?? '.', variables));
  const target = place === '.' || isIn(written, module) ? written : join(place, written);
  if (!isPlain(target)) return [];
  const output = outputOf(expandKnown(flags.get('-o') ?? '', variables)) || undefined;
  const tags = tagsOf(expandVariables(flags.get('-tags') ?? '', variables) ?? '');
  const linker = readLinkerFlags(flags.get('-ldflags') ?? '', variables);
  return [{ package: packageOf(target, module), output, tags, linker }];
}

/** Without the parenthesis that ends a subshell: `(cd cmd && go build .)`. */
function wordsOf(tail: string): string[] {
  const words = tail.match(WORD) ?? [];
  return words.map((word) => (word.includes('(') ? word : word.replace(/\)+$/, ''))).filter(Boolean);
}

function unquoted(written: string): string {
  return written.replace(/["']/g, '');
}

/** '' for a directory, into which the go tool writes a program of the package's name. */
function outputOf(written: string): string {
  return unquoted(written).replace(/^.*\//, '').replace(VARIABLE, '').replaceAll(PLATFORM, '');
}

/** Expands variables that contain flags: `go build $(BUILD_FLAGS) …`. */
function withFlagsOfVariables(tokens: string[], variables: Map<string, string>): string[] {
  return tokens.flatMap((token) => {
    const [, round, curly] = WHOLE_VARIABLE.exec(token) ?? [];
    const value = variables.get(round ?? curly ?? '');
    return value?.startsWith('-') ? (value.match(WORD) ?? []) : [token];
  });
}

function readTokens(tokens: string[]): { flags: Map<string, string>; words: string[] } {
  const flags = new Map<string, string>();
  const words: string[] = [];
  for (let index = 0; index < tokens.length; index++) {
    const [flag, value] = flagOf(tokens[index]!);
    if (!flag.startsWith('-')) words.push(flag);
    else if (value !== undefined || !WITH_VALUE.has(flag)) flags.set(flag, value ?? '');
    else flags.set(flag, tokens[++index] ?? '');
  }
  return { flags, words };
}

/** A flag has one dash or two, and its value after a `=` or in the next token. */
function flagOf(token: string): [flag: string, value?: string] {
  const parts = /^--?(\w+)(?:=(.*))?$/.exec(token);
  if (!parts) return [token];
  return parts[2] === undefined ? [`-${parts[1]}`] : [`-${parts[1]}`, parts[2]];
}

/** Old builds separate tags by spaces. */
function tagsOf(text: string): string {
  const tags = text.replace(/["']/g, '').split(/[\s,]+/);
  return tags.filter((tag) => tag !== '').join();
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

import { type LinkerFlags, readLinkerFlags } from './linker-flags.ts';
import { buildVariables, expandVariables } from './variables.ts';

/** One `go build -o <output> <package>` (or `go run <package>`) in a Dockerfile or Makefile. */
export interface BuildRecipe {
  /** './cmd' */
  package: string;
  /** The file name of -o, without variables (`manager_${ARCH}`). */
  output: string | undefined;
  /** The value of -tags, separated by commas; '' for none, and for tags that make or a shell would have to compute. */
  tags: string;
  /** The value of -ldflags. */
  linker: LinkerFlags;
}

/** Flags of `go build` that take a value. */
const WITH_VALUE = new Set([
  ...['-C', '-o', '-ldflags', '-gcflags', '-asmflags', '-gccgoflags', '-tags', '-mod', '-modfile', '-p'],
  ...['-installsuffix', '-buildmode', '-compiler', '-overlay', '-pgo', '-pkgdir', '-toolexec'],
]);

/** The go tool can be a variable: `$(GO) build`, `${GO_CMD} build`. */
const GO_BUILD =
  /(?:\bgo|\$[({]GO\w*[)}])\s+(?:build|run)\b((?:"[^"\n]*"|'[^'\n]*'|\$\((?:[^()\n]|\([^()\n]*\))*\)|[^\n;&|])*)/g;
/** A word of a command. Quotes, and what make or a shell evaluates, can contain spaces. */
const WORD = /(?:[^\s"'$]|"[^"]*"|'[^']*'|\$\((?:[^()]|\([^()]*\))*\)|\$)+/g;
/** A word that is one variable, which can contain several flags. */
const WHOLE_VARIABLE = /^\$(?:\((\w+)\)|\{(\w+)\})$/;
const ELSEWHERE = /\bcd\s/;
const VARIABLE = /[-_.]?\$(?:\(\w+\)|\{\w+\}|\w+)/g;

/** The builds in a Dockerfile or Makefile of a Go module, except those that name the package by a variable. */
export function buildRecipes(text: string, module = ''): BuildRecipe[] {
  const joined = text.replace(/\\\r?\n/g, ' ');
  const variables = buildVariables(joined);
  return joined
    .split('\n')
    .flatMap((line) =>
      [...line.matchAll(GO_BUILD)].filter(({ index }) => !ELSEWHERE.test(line.slice(0, index))),
    )
    .flatMap((match) => readRecipe(match[1]!, module, variables));
}

function readRecipe(tail: string, module: string, variables: Map<string, string>): BuildRecipe[] {
  const { flags, words } = readTokens(withFlagsOfVariables(tail.match(WORD) ?? [], variables));
  const [target = '.'] = words;
  if (flags.has('-C') || !isPlain(target)) return [];
  const output = flags.get('-o')?.replace(/^.*\//, '').replace(VARIABLE, '') || undefined;
  const tags = tagsOf(expandVariables(flags.get('-tags') ?? '', variables) ?? '');
  const linker = readLinkerFlags(flags.get('-ldflags') ?? '', variables);
  return [{ package: packageOf(target, module), output, tags, linker }];
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
function packageOf(token: string, module: string): string {
  const inModule = module !== '' && (token === module || token.startsWith(`${module}/`));
  const directory = (inModule ? token.slice(module.length + 1) : token)
    .replace(/(^|\/)[^/]*\.go$/, '')
    .replace(/^(\.\/)+/, '')
    .replace(/\/$/, '');
  return directory === '' || directory === '.' ? '.' : `./${directory}`;
}

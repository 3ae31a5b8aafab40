/** One `go build -o <output> <package>` (or `go run <package>`) of a Dockerfile or Makefile. */
export interface BuildRecipe {
  /** The package, as './cmd'. */
  package: string;
  /** The base name of -o, without what stands in it for a platform (`manager_${ARCH}`). */
  output: string | undefined;
}

/** Flags of `go build` whose value is the next token. */
const WITH_VALUE = new Set(['-o', '-ldflags', '-gcflags', '-asmflags', '-tags', '-mod', '-modfile', '-p']);

/** Go itself may be a variable: `$(GO) build`, `${GO_CMD} build`. */
const GO_BUILD = /(?:\bgo|\$[({]GO\w*[)}])\s+(?:build|run)\b([^\n;&|]*)/g;
const ELSEWHERE = /\bcd\s/;
const VARIABLE = /[-_.]?\$(?:\(\w+\)|\{\w+\}|\w+)/g;

/** The builds that a Dockerfile or Makefile of that Go module spells out; one that names its package by a variable is left out. */
export function buildRecipes(text: string, module = ''): BuildRecipe[] {
  const joined = text.replace(/\\\r?\n/g, ' ');
  return joined
    .split('\n')
    .flatMap((line) =>
      [...line.matchAll(GO_BUILD)].filter(({ index }) => !ELSEWHERE.test(line.slice(0, index))),
    )
    .flatMap((match) => readRecipe(match[1]!, module));
}

function readRecipe(tail: string, module: string): BuildRecipe[] {
  const tokens = tail.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  let output: string | undefined;
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index]!;
    if (token === '-o') output = tokens[index + 1]?.replace(/^.*\//, '').replace(VARIABLE, '') || undefined;
    if (token === '-C') return [];
    if (WITH_VALUE.has(token)) index++;
    else if (!token.startsWith('-'))
      return isPlain(token) ? [{ package: packageOf(token, module), output }] : [];
  }
  return [{ package: '.', output }];
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

/** One `go build -o <output> <package>` (or `go run <package>`) of a Dockerfile or Makefile. */
export interface BuildRecipe {
  /** The package, as './cmd'. */
  package: string;
  /** The base name of -o. */
  output: string | undefined;
}

/** Flags of `go build` whose value is the next token. */
const WITH_VALUE = new Set([
  '-o',
  '-ldflags',
  '-gcflags',
  '-asmflags',
  '-tags',
  '-mod',
  '-modfile',
  '-p',
  '-C',
]);

/** The builds that a Dockerfile or Makefile spells out; one that names its package by a variable is left out. */
export function buildRecipes(text: string): BuildRecipe[] {
  const joined = text.replace(/\\\r?\n/g, ' ');
  return [...joined.matchAll(/\bgo (?:build|run)\b([^\n;&|]*)/g)].flatMap((match) => readRecipe(match[1]!));
}

function readRecipe(tail: string): BuildRecipe[] {
  const tokens = tail.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  let output: string | undefined;
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index]!;
    if (token === '-o') output = tokens[index + 1]?.replace(/^.*\//, '');
    if (WITH_VALUE.has(token)) index++;
    else if (!token.startsWith('-')) return isPlain(token) ? [{ package: packageOf(token), output }] : [];
  }
  return [{ package: '.', output }];
}

function isPlain(token: string): boolean {
  return /^[\w./-]+$/.test(token) && !token.startsWith('/') && !token.startsWith('..');
}

/** 'cmd/main.go', './cmd' and 'cmd/' all name './cmd'. */
function packageOf(token: string): string {
  const directory = token
    .replace(/(^|\/)[^/]*\.go$/, '')
    .replace(/^(\.\/)+/, '')
    .replace(/\/$/, '');
  return directory === '' || directory === '.' ? '.' : `./${directory}`;
}

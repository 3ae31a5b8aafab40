import { join, resolve } from 'node:path';

export interface GoModule {
  directory: string;
  /** The path in import statements. */
  path: string;
}

/** Matches a comment, a parenthesis, a quoted word and a bare word. */
const TOKEN = /\/\/.*|[()]|"([^"]*)"|`([^`]*)`|(?:(?!\/\/)[^\s()"`])+/g;

/** The directives of a go.mod or go.work, without quotes and comments; each line of a block is one: `['require', 'k8s.io/api', 'v0.36.2']` */
export function directives(text: string): string[][] {
  let block: string[] = [];
  return text.split('\n').flatMap((line) => {
    const tokens = [...line.matchAll(TOKEN)].map(([all, quoted, raw]) => quoted ?? raw ?? all);
    const words = tokens.filter((token) => !token.startsWith('//') && token !== '(' && token !== ')');
    const directive = [...block, ...words];
    if (tokens.includes('(')) block = words;
    if (tokens.includes(')')) block = [];
    return words.length > 0 && directive.length > 1 ? [directive] : [];
  });
}

/** The word after this verb; undefined if there is no such directive. */
export function wordAfter(verb: string, text: string): string | undefined {
  return directives(text).find(([first]) => first === verb)?.[1];
}

/** The modules that the text of a go.mod or go.work in `directory` replaces with directories. */
export function replacedIn(text: string, directory: string): GoModule[] {
  return directives(text).flatMap(([verb, path = '', ...words]) => {
    const place = words[words.indexOf('=>') + 1];
    if (verb !== 'replace' || place === undefined || !/^(?:\.{1,2}(?:\/|$)|\/)/.test(place)) return [];
    return [{ directory: resolve(directory, place), path }];
  });
}

/** Where a package is, by its import path; undefined for a package of none of these modules. A module can contain others. */
export function packageDirectory(path: string, modules: GoModule[]): string | undefined {
  const [module] = modules
    .filter((one) => isIn(path, one.path))
    .sort((a, b) => b.path.length - a.path.length);
  return module && join(module.directory, path.slice(module.path.length));
}

/** Whether an import path is one of the module's packages. */
export function isIn(path: string, module: string): boolean {
  return module !== '' && (path === module || path.startsWith(`${module}/`));
}

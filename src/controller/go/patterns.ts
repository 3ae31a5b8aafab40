import { join } from 'node:path';
import { basename } from 'node:path/posix';
import { type GoCheckout, moduleOf } from './checkout.ts';
import { type BuildRecipe, isPattern } from './recipes.ts';

/**
 * Replaces each pattern (`./cmd/...`) by a recipe for each main package that it matches. These recipes come last: a command that names its
 * package says more about it.
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

/** The main packages that a package or pattern names. A pattern does not match packages of other modules. */
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

/** `...` is any path, and a shell's `*` a part of one. */
const MATCHES: Record<string, string> = { '/...': '(?:/.+)?', '...': '.*', '*': '[^/]*', '.': '\\.' };

import { joinLinkerFlags, withoutDebugInformation } from './linker-flags.ts';
import type { BuildRecipe } from './recipes.ts';

/** A flag of `go build` that devloop sets, and why. */
export interface BuildFlag {
  what: 'build tags' | 'linker flags';
  /** As the go tool takes it: `-tags=a,b`. */
  flag: string;
  value: string;
  source: string;
}

/** Those of the recipe, unless the user's GOFLAGS have their own: a flag of the command line would override it. */
export function buildFlags(
  found: { recipe: BuildRecipe; source: string } | undefined,
  userFlags: string,
): BuildFlag[] {
  const flags: BuildFlag[] = [];
  const tags = found?.recipe.tags ?? '';
  if (found && tags !== '' && !sets(userFlags, 'tags'))
    flags.push({ what: 'build tags', flag: `-tags=${tags}`, value: tags, source: found.source });
  if (!sets(userFlags, 'ldflags')) flags.push(linkerFlag(found));
  return flags;
}

function linkerFlag(found: { recipe: BuildRecipe; source: string } | undefined): BuildFlag {
  const { flags, leftOut } = found?.recipe.linker ?? { flags: [], leftOut: [] };
  const all = withoutDebugInformation(flags);
  const value = joinLinkerFlags(all);
  const sources: string[] = [];
  if (found && flags.length > 0) sources.push(found.source);
  if (all.length > flags.length) sources.push('-w makes linking faster');
  if (found && leftOut.length > 0)
    sources.push(`devloop does not evaluate ${leftOut.join(' ')} of ${found.source}`);
  return { what: 'linker flags', flag: `-ldflags=${value}`, value, source: sources.join('; ') };
}

/** GOFLAGS are separated by spaces, each perhaps in quotes. */
function sets(goFlags: string, name: string): boolean {
  return new RegExp(`(^|[\\s'"])--?${name}\\b`).test(goFlags);
}

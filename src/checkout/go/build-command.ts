import { shellWord, shortened } from '../../phrases.ts';
import type { DebugBuild } from '../language.ts';
import { runsShellCalls } from '../make/shell-calls.ts';
import { buildsAs, type ChoiceHints, imagesOf, programsOf, the } from './choice.ts';
import {
  joinLinkerFlags,
  readLinkerFlags,
  withDebugInformation,
  withoutDebugInformation,
} from './linker-flags.ts';
import type { BuildRecipe, GoDockerfile } from './recipes.ts';

/** A flag that devloop gives to `go build`, and why. */
export interface BuildFlag {
  what: 'build tags' | 'compiler flags' | 'linker flags';
  /** `-tags=a,b` */
  flag: string;
  value: string;
  source: string;
}

/**
 * The command that builds a Go operator. It turns VCS stamping off, because stamping makes every commit a new program, fails in a checkout
 * that git does not trust, and lets git run programs that the checkout names (core.fsmonitor).
 */
export function goBuildCommand(goPackage: string, binary: string, flags: string[] = []): string[] {
  return ['go', 'build', '-buildvcs=false', ...flags, '-o', binary, goPackage];
}

/**
 * The environment for builds and lists of the go tool. The go tool, the compiler and the linker live for seconds: if they collect their
 * garbage half as often, they take up to a quarter less time, and a fifth more memory. The user's own GOGC takes precedence.
 */
export function goEnvironment(env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return { GOGC: '200', ...env };
}

/** How a package is built, and the file in which that is written. */
export interface FoundRecipe {
  recipe: BuildRecipe;
  source: string;
}

export interface BuildSettings {
  /** The value of GOFLAGS. */
  userFlags: string;
  /** The experiments with which the go tool builds here: the value of GOEXPERIMENT. */
  experiments?: string | undefined;
  forDebugger?: DebugBuild | undefined;
  /** The paths of the modules that are built from the developer's own directories. */
  ownModules?: string[];
  /** The package is about to be built, so calls of make's shell function have been evaluated, except those that devloop never evaluates. */
  isBuilt?: boolean | undefined;
}

/** The flags of the recipe, except those that the user's GOFLAGS set: a flag on the command line would override GOFLAGS. */
export function buildFlags(found: FoundRecipe | undefined, settings: BuildSettings): BuildFlag[] {
  const { userFlags, forDebugger, ownModules = [] } = settings;
  const flags: BuildFlag[] = [];
  if (found && found.recipe.tags !== '' && !setsFlag(userFlags, 'tags'))
    flags.push(tagsFlag(found, settings));
  if (!setsFlag(userFlags, 'ldflags')) flags.push(linkerFlag(found, settings));
  if (forDebugger) flags.push(...unoptimized(forDebugger === 'all' ? [] : ownModules));
  return flags;
}

/**
 * The tags of a recipe with experiments (`GOEXPERIMENT=strictfipsruntime go build -tags strictfipsruntime`) select code that does not build
 * without these, and few toolchains know the experiments of another one.
 */
function tagsFlag({ recipe, source }: FoundRecipe, { experiments: here = '' }: BuildSettings): BuildFlag {
  const { tags, experiments = '' } = recipe;
  const has = new Set(here.split(','));
  const isComplete = experiments === '' || experiments.split(',').every((one) => has.has(one));
  if (isComplete) return { what: 'build tags', flag: `-tags=${tags}`, value: tags, source };
  const why = `without ${tags} from ${source}, which come with GOEXPERIMENT=${experiments}; set that variable to build with both`;
  return { what: 'build tags', flag: '-tags=', value: 'none', source: why };
}

/**
 * Optimized code lacks variables that a debugger could show, and lines at which it could stop. Compiling all packages anew takes minutes,
 * and compiling those of these modules seconds. Without a module, all packages are compiled so.
 */
function unoptimized(modules: string[]): BuildFlag[] {
  const patterns = modules.length === 0 ? ['all'] : modules.map((path) => `${path}/...`);
  return patterns.map((pattern) => ({
    what: 'compiler flags',
    flag: `-gcflags=${pattern}=-N -l`,
    value: `${pattern}=-N -l`,
    source:
      modules.length === 0
        ? 'for the debugger'
        : 'for the debugger; --debug-all does the same for all packages',
  }));
}

function linkerFlag(
  found: FoundRecipe | undefined,
  { forDebugger, isBuilt = false }: BuildSettings,
): BuildFlag {
  const { flags, leftOut } = readLinkerFlags(found?.recipe.linkerFlags ?? '');
  const all = forDebugger ? withDebugInformation(flags) : withoutDebugInformation(flags);
  const value = joinLinkerFlags(all);
  const sources: string[] = [];
  if (found && flags.length > 0) sources.push(found.source);
  if (all.length > flags.length) sources.push('-s links faster');
  if (all.length < flags.length) sources.push('without -s and -w, for the debugger');
  const leave = (some: string[], why: string): void => {
    if (found && some.length > 0) sources.push(`without ${summaryOf(some)} from ${found.source}, ${why}`);
  };
  const called = leftOut.filter(runsShellCalls);
  leave(called, isBuilt ? 'whose command fails' : 'which devloop evaluates only when it builds');
  leave(
    leftOut.filter((flag) => !called.includes(flag)),
    'which devloop does not evaluate',
  );
  return {
    what: 'linker flags',
    flag: `-ldflags=${value}`,
    value: value || 'none',
    source: sources.join('; ') || 'for the debugger',
  };
}

/** A flag with a Makefile's nested conditions can have tens of thousands of characters. */
const MOST_SHOWN = 200;
const MOST_NAMED = 600;
const MOST_OF_ONE = 60;

/**
 * The flags as written, or each flag shortened if they are too long. The names of all variables that keep their value from the sources are
 * more useful than the whole commands that would set the first few.
 */
function summaryOf(flags: string[]): string {
  const written = flags.join(' ');
  if (written.length <= MOST_SHOWN) return written;
  return shortened(flags.map((flag) => shortened(nameOnly(flag), MOST_OF_ONE)).join(' '), MOST_NAMED);
}

/** Shortens `-X example.com/operator/version.tag=$(shell …)` to `-X version.tag=…`. */
function nameOnly(flag: string): string {
  return flag.replace(/^(--?X)[ =]['"]?(?:[^\s=]*\/)?([^\s=/]+)=.*$/s, '$1 $2=…');
}

/** These only leave out symbols and debug information, so no build fails because of them. */
const HARMLESS = /^-ldflags=(?:-[sw] ?)*$/;

/**
 * How to build without the flags of a recipe, if a build fails with them; undefined if it has none. A value in GOFLAGS replaces them, even
 * an empty one. The variable replaces what the user has in it, or has set with `go env -w`, so that is repeated.
 */
export function withoutChosen(flags: BuildFlag[], userFlags: string): string | undefined {
  const chosen = flags.filter(({ what, flag }) =>
    what === 'build tags' ? flag !== '-tags=' : what === 'linker flags' && !HARMLESS.test(flag),
  );
  if (chosen.length === 0) return undefined;
  const list = chosen.map(({ flag, source }) => `${shortened(flag, MOST_SHOWN)} (${source})`).join(', ');
  const empty = chosen.map(({ flag }) => flag.replace(/=.*$/s, '='));
  const goFlags = [userFlags, ...empty].filter((one) => one !== '').join(' ');
  return `devloop chose ${list}. To build without: GOFLAGS=${shellWord(goFlags)} devloop up`;
}

/** The tags that GOFLAGS sets. */
export function tagsIn(goFlags: string): string[] {
  const [, value = ''] = /(?:^|[\s'"])--?tags=([^\s'"]*)/.exec(goFlags) ?? [];
  return value.split(',').filter((tag) => tag !== '');
}

/** GOFLAGS separates flags by spaces, and allows quotes around each. */
export function setsFlag(goFlags: string, name: string): boolean {
  return new RegExp(`(^|[\\s'"])--?${name}\\b`).test(goFlags);
}

/**
 * How the package is built. A recipe in a Dockerfile of the image comes before the Makefile's, and a recipe that builds the container's
 * program comes before others. A Dockerfile without a build of its own copies its program or runs make, so the Makefile's recipe for that
 * program counts as the image's.
 */
export function recipeOf(goPackage: string, hints: ChoiceHints): FoundRecipe | undefined {
  const own = (recipes: BuildRecipe[]): BuildRecipe[] =>
    recipes.filter((recipe) => recipe.package === goPackage);
  const best = (recipes: BuildRecipe[]): BuildRecipe | undefined =>
    recipes.find((recipe) => programsOf(hints).some((name) => buildsAs(recipe, name))) ?? recipes[0];
  const made = own(hints.makefile);
  const images = imagesOf(hints).map((dockerfile) => {
    const outside = made.find((recipe) => isFromMake(recipe, dockerfile, hints));
    return outside
      ? { recipe: outside, source: 'the Makefile' }
      : { recipe: lastLike(best(own(dockerfile.recipes)), dockerfile), source: the(dockerfile.file) };
  });
  const all = [...images, { recipe: best(made), source: 'the Makefile' }];
  for (const { recipe, source } of all) if (recipe) return { recipe, source: recipe.script ?? source };
  return undefined;
}

/** A later instruction of a Dockerfile overwrites the program of an earlier one. */
function lastLike(first: BuildRecipe | undefined, { recipes }: GoDockerfile): BuildRecipe | undefined {
  return recipes.findLast((one) => one.package === first?.package && one.output === first.output);
}

function isFromMake(
  recipe: BuildRecipe,
  { recipes, programs }: GoDockerfile,
  { program }: ChoiceHints,
): boolean {
  const runs = program === undefined ? programs : programs.filter((name) => name === program);
  return recipes.length === 0 && runs.some((name) => buildsAs(recipe, name));
}

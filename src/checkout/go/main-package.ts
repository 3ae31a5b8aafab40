import { isAbsolute, join } from 'node:path';
import { reportWhileWaiting } from '../../async.ts';
import { DevloopError } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import { similarNames } from '../../similar.ts';
import type { Checkout } from '../files.ts';
import { programName } from '../image/started-words.ts';
import { agreedFiles } from '../image/workload-image.ts';
import type { FoundCommand, ImageFile, ProgramHints } from '../language.ts';
import { withShellOutputs } from '../make/shell-calls.ts';
import {
  type BuildFlag,
  buildFlags,
  type FoundRecipe,
  recipeOf,
  tagsIn,
  withoutChosen,
} from './build-command.ts';
import { asPackage, type GoCheckout, type MainDirectory, ownModules, readGoCheckout } from './checkout.ts';
import {
  type Candidate,
  type ChoiceHints,
  candidatesOf,
  chooseMainPackage,
  imagesOf,
  type MainPackage,
  undecided,
} from './choice.ts';
import { readClues, readMains } from './clues.ts';
import { isIn } from './go-mod.ts';
import { imageCommandOf, variablesOfImage } from './image-command.ts';
import { linksByGo } from './libraries.ts';
import { packageOf } from './recipes.ts';
import { goAdvice, readGoFlags } from './toolchain.ts';

export interface FoundMain {
  /** The name for `--package`: relative to the root of the checkout. */
  name: string;
  /** The argument for the go tool in `directory`: './cmd'. */
  package: string;
  /** The directory of its module. */
  directory: string;
  source: string;
  /** The value of GOFLAGS. */
  userFlags: string;
  /** The flags for `go build`, in addition to the user's GOFLAGS. */
  flags: BuildFlag[];
  /** How to build without those of them that devloop took from a recipe; undefined if there are none. */
  withoutChosen: string | undefined;
  /**
   * Whether the program is built from packages with paths of webhooks that the cluster calls; always true if the user named the package.
   */
  hasWebhooks: boolean;
  /** Other main packages that could be the manager, as `--package` names them. */
  rivals: string[];
  /** How the program's image starts it, if a Dockerfile shows that. */
  image: FoundCommand | undefined;
  /** The files of the checkout in its image. */
  imageFiles: ImageFile[];
  /** The variables that its image sets with ENV. */
  imageVariables: Record<string, string>;
  /** The name under which the image starts the program, if the program's behaviour can depend on that name. */
  runAs: string | undefined;
}

/** What decides about the main package: `isBuilt`, see withShellOutputs. */
export type MainHints = Omit<ProgramHints, 'directory'>;

/** The Go package of the operator's manager, and how devloop chose it. */
export async function findMainPackage(files: Checkout, hints: MainHints): Promise<FoundMain> {
  const { root } = files;
  const userFlags = await (hints.prepared?.userFlags ?? readGoFlags(root, hints));
  const tags = new Set(tagsIn(userFlags));
  const checkout = await readGoCheckout(files, tags);
  if (checkout.modules.length === 0) throw noModule(root);
  const clues = await readClues(checkout, hints);
  const found = async (
    goPackage: string,
    source: string,
  ): Promise<Omit<FoundMain, 'hasWebhooks' | 'rivals' | 'runAs'>> => {
    const { module, directory } = checkout.mains.find((one) => one.package === goPackage)!;
    const recipe = await evaluated(recipeOf(goPackage, clues), hints);
    const flags = buildFlags(recipe, {
      ...{ ...hints, userFlags, experiments: process.env.GOEXPERIMENT },
      ownModules: hints.forDebugger === undefined ? [] : await ownModules(module.directory),
    });
    return {
      name: goPackage,
      package: asPackage(module.directory, directory),
      directory: module.directory,
      source,
      ...{ userFlags, flags, withoutChosen: withoutChosen(flags, userFlags) },
      image: imageCommandOf(goPackage, clues),
      imageFiles: agreedFiles(imagesOf(clues)),
      imageVariables: variablesOfImage(goPackage, clues),
    };
  };
  const { named } = hints;
  if (named) {
    const main = namedMain(checkout, named);
    const [read] = await readMains({ ...checkout, mains: placesOf(checkout, [main]) }, clues, tags);
    const known = await found(main, named.source);
    return { ...known, hasWebhooks: true, rivals: [], runAs: nameOf(read!, clues, known.image) };
  }
  const mains = await askGo(checkout, await readMains(checkout, clues, tags), clues, hints);
  const choice = chooseMainPackage(mains, clues);
  if ('candidates' in choice)
    throw choice.candidates.length > 0 ? ambiguous(choice.candidates) : noManager(mains, clues);
  const chosen = mains.find((main) => main.package === choice.package)!;
  const hasWebhooks = chosen.paths.size > 0;
  const isKnown = chosen.isManager !== false || hasWebhooks || clues.ko.includes(chosen.package);
  const isCalled = (hints.paths ?? []).length > 0;
  if (!isKnown && !isCalled) throw notManager(chosen);
  const rivals = choice.rivals.slice(0, SHOWN).map((rival) => rival.package);
  const known = await found(choice.package, choice.source);
  return { ...known, hasWebhooks, rivals, runAs: nameOf(chosen, clues, known.image) };
}

async function evaluated(
  found: FoundRecipe | undefined,
  { isBuilt, signal }: MainHints,
): Promise<FoundRecipe | undefined> {
  const { madeIn, linkerFlags = '' } = found?.recipe ?? {};
  if (found === undefined || madeIn === undefined || !isBuilt) return found;
  const evaluated = await withShellOutputs(linkerFlags, madeIn, signal);
  return { ...found, recipe: { ...found.recipe, linkerFlags: evaluated } };
}

function placesOf({ mains }: GoCheckout, packages: string[]): MainDirectory[] {
  return mains.filter((one) => packages.includes(one.package));
}

/** The name under which the image starts the program; undefined if it does not matter, or is not known. */
function nameOf(
  { readsOwnName }: MainPackage,
  { program }: ChoiceHints,
  image: FoundCommand | undefined,
): string | undefined {
  const name = program ?? (image && programName([...image.entrypoint, ...image.cmd]));
  return readsOwnName && name && /^\w[\w.+-]*$/.test(name) ? name : undefined;
}

/** The package that `--package` names: by its directory, one of its files, or its import path. */
function namedMain({ root, mains, modules }: GoCheckout, named: { package: string; source: string }): string {
  const module = modules.find(({ path }) => isIn(named.package, path));
  const wanted = module
    ? asPackage(root, join(module.directory, packageOf(named.package, module.path)))
    : packageOf(isAbsolute(named.package) ? asPackage(root, named.package) : named.package, '');
  if (mains.some((main) => main.package === wanted)) return wanted;
  const known = mains.map((main) => main.package);
  const similar = similarNames(wanted, known);
  throw new DevloopError(
    'controller.no-main',
    `${wanted} (${named.source}) is not a main package of this checkout. Its main packages: ${quoted(known) || 'none'}.`,
    known.length > 0 ? { hint: (similar.length > 0 ? similar : known).map(command).join('\n') } : {},
  );
}

/**
 * Asks the go tool about the main packages on which the choice depends: first only with its cache, and with downloads only if no other
 * package could be the manager.
 */
async function askGo(
  checkout: GoCheckout,
  read: MainPackage[],
  clues: ChoiceHints,
  { emit = () => {}, signal }: MainHints,
): Promise<MainPackage[]> {
  let mains = read;
  for (const mayDownload of [false, true]) {
    const asked = undecided(mains, clues).map((main) => main.package);
    const hasOther = candidatesOf(mains, clues).length > 0;
    if (asked.length === 0 || (mayDownload && hasOther)) return mains;
    const places = placesOf(checkout, asked);
    const what = `go list ${asked.join(' ')}${mayDownload ? ', which downloads modules' : ''}`;
    const listing = linksByGo(places, { mayDownload, signal });
    const links = await reportWhileWaiting(listing, { for: what, limitSeconds: LIST_SECONDS }, emit);
    mains = mains.map((main) => {
      const place = places.find((one) => one.package === main.package);
      return place ? { ...main, isManager: links.get(place.directory)?.isManager } : main;
    });
    const problem = [...links.values()].find((one) => one.isManager === undefined)?.problem;
    if (mayDownload && problem !== undefined && candidatesOf(mains, clues).length === 0)
      throw unreadable(asked, problem);
  }
  return mains;
}

/** Quotes the packages in backquotes, because the package in the root is a dot, which would look like the end of the sentence. */
function quoted(packages: string[]): string {
  return packages.map((one) => `\`${one}\``).join(', ');
}

function unreadable(packages: string[], problem: string): DevloopError {
  return new DevloopError(
    'controller.no-main',
    `go cannot tell what ${packages.join(', ')} is built from, so devloop does not know which program is the manager:\n${problem}`,
    { hint: goAdvice(problem) ?? packages.map(command).join('\n') },
  );
}

const LIST_SECONDS = 600;

/** The next command for one of several main packages. */
function command(goPackage: string): string {
  return `devloop up --package ${shellWord(goPackage)}`;
}

function noModule(root: string): DevloopError {
  return new DevloopError(
    'controller.no-main',
    `There is no go.mod in ${root}, so there is no Go operator to build.`,
    { hint: 'devloop up -- <command> runs an operator in any language.' },
  );
}

function ambiguous(candidates: Candidate[]): DevloopError {
  const list = candidates.map(({ package: name, evidence }) => {
    const says = evidence
      .filter(({ weight }) => weight > 0)
      .map((one) => one.says)
      .join('; ');
    return `\n  ${name}  (${says || 'a main package'})`;
  });
  return new DevloopError(
    'controller.no-main',
    `Several main packages could be the manager:${list.join('')}`,
    { hint: ['Choose one:', ...candidates.map((one) => command(one.package))].join('\n') },
  );
}

/** The error for a program that is not a manager, such as one that runs on each node. */
function notManager({ package: name }: MainPackage): DevloopError {
  return new DevloopError(
    'target.not-found',
    `${quoted([name])} has the name of the program in the container's command, but it links neither controller-runtime, the Operator SDK, informers of client-go nor the types of admission reviews, and no webhook calls it. Nothing was started.`,
    { hint: `If it is an operator, run:\n${command(name)}` },
  );
}

/** A program that is not an operator must not run by accident. */
function noManager(mains: MainPackage[], { paths }: ChoiceHints): DevloopError {
  if (mains.length === 0) {
    return new DevloopError('controller.no-main', 'This Go module contains no main package.', {
      hint: 'devloop up -- <command> runs a program that is built elsewhere.',
    });
  }
  const names = mains.map((main) => main.package);
  const listed =
    names.length === 1 ? `${quoted(names)} does not link` : `none of ${quoted(names.slice(0, SHOWN))} links`;
  const lacks = names.length === 1 ? 'does not contain' : 'none contains';
  const nor = paths.length > 0 ? `, and ${lacks} the path of a webhook` : '';
  return new DevloopError(
    'target.not-found',
    `This checkout has no main package of an operator: ${listed} controller-runtime, the Operator SDK, informers of client-go or the types of admission reviews${nor}. Nothing was started.`,
    { hint: ['If one of them is an operator, name it:', ...names.slice(0, SHOWN).map(command)].join('\n') },
  );
}

const SHOWN = 6;

import { dirname } from 'node:path/posix';
import { isPart } from '../image/dockerfile.ts';
import { type ImageHints, ofImage } from '../image/workload-image.ts';
import type { BuildRecipe, GoDockerfile } from './recipes.ts';

/** What is known about one main package of the checkout. */
export interface MainPackage {
  /** './cmd' */
  package: string;
  /** The last part of its module's path: a program in the root or in `cmd` is usually named after it. */
  module: string;
  /** Whether it links a manager library; undefined if only the go tool can tell. */
  isManager: boolean | undefined;
  /** The paths of webhooks that are in its sources, or in those of the packages that it is built from. */
  paths: ReadonlySet<string>;
  /** The paths in packages below its own directory; empty for the root, since every package is below it. */
  pathsBelow: ReadonlySet<string>;
  /** Whether the program registers webhooks with controller-runtime. */
  registersWebhooks: boolean;
  /** Whether the program's behaviour can depend on the name under which it is started. */
  readsOwnName: boolean;
}

/** What is known about the manager from the cluster and the recipes. */
export interface ChoiceHints extends ImageHints {
  /** The paths of the webhooks. */
  paths: string[];
  dockerfiles: GoDockerfile[];
  makefile: BuildRecipe[];
  /** Packages that ko builds for the Deployment. */
  ko: string[];
}

/** One clue that speaks for a main package, or against it. */
export interface Evidence {
  /** How much it counts; below 0, it speaks against the package. */
  weight: number;
  /** For display: `the Dockerfile builds it as manager`. Evidence against a package has no subject: `is in a directory of tools`. */
  says: string;
}

export interface Candidate {
  package: string;
  /** One entry for each clue, in the same order for every package; the weight of a clue that does not apply is 0. */
  evidence: Evidence[];
  score: number;
}

export type Choice =
  /** `source` is what distinguishes the package from the second best; `rivals` could be the manager as well. */
  | { package: string; source: string; rivals: Candidate[] }
  /** All candidates that share the best score; empty if no main package can be a manager. */
  | { candidates: Candidate[] };

/**
 * How much each clue counts. A program that is not built from the webhooks' packages cannot serve them, so having most of the webhook paths
 * outweighs all clues in Dockerfiles and Makefiles, which can be about another image. Only ko outweighs the paths, because it names the
 * package for the Deployment itself. Names are weak clues, except the name of the program in the container's command: it weighs more than a
 * manager library, which another program of the operator can link, too.
 */
const WEIGHT = {
  ko: 200,
  paths: 60,
  mostPaths: 40,
  library: 30,
  image: 30,
  makefile: 20,
  program: 40,
  folder: 20,
  below: 15,
  builds: 12,
  name: 8,
  registers: 8,
  makes: 6,
  tool: -25,
  commandLine: -60,
};

/** Weighs all clues about all main packages. */
export function chooseMainPackage(mains: MainPackage[], hints: ChoiceHints): Choice {
  const candidates = candidatesOf(mains, hints);
  const [best, second] = candidates;
  if (best === undefined || best.score === second?.score) {
    return { candidates: candidates.filter(({ score }) => score === best?.score) };
  }
  const source = second ? differences(best, second) : whyTheOnly(best, mains);
  // A tool is not the manager, unless it is built from packages with webhook paths.
  const serving = new Set(mains.filter(({ paths }) => paths.size > 0).map((main) => main.package));
  const rivals = candidates
    .slice(1)
    .filter((one) => serving.has(one.package) || !isToolDirectory(one.package));
  return { package: best.package, source, rivals };
}

/** The main packages that can be a manager, the best first. */
export function candidatesOf(mains: MainPackage[], hints: ChoiceHints): Candidate[] {
  const declared = new Set(mains.flatMap(({ paths }) => [...paths])).size;
  const most = Math.max(0, ...mains.map(({ paths }) => paths.size));
  return mains
    .filter(
      (main) =>
        main.isManager ||
        main.paths.size > 0 ||
        hints.ko.includes(main.package) ||
        hints.program === nameOf(main),
    )
    .map((main) => {
      const evidence = evidenceOf(main, hints, { declared, most });
      const score = evidence.reduce((sum, { weight }) => sum + weight, 0);
      return { package: main.package, evidence, score };
    })
    .sort((a, b) => b.score - a.score || a.package.localeCompare(b.package));
}

/**
 * The main packages for which devloop has to ask the go tool whether they link a manager library: those that would reach the best score if
 * they did, and the best one itself, unless it has webhook paths or ko builds it.
 */
export function undecided(mains: MainPackage[], hints: ChoiceHints): MainPackage[] {
  const unknown = mains.filter(({ isManager }) => isManager === undefined);
  const best = candidatesOf(mains, hints)[0];
  return unknown.filter((main) => {
    if (main.package === best?.package) return main.paths.size === 0 && !hints.ko.includes(main.package);
    const others = mains.map((one) => (one === main ? { ...one, isManager: true } : one));
    const itself = candidatesOf(others, hints).find((one) => one.package === main.package)!;
    return itself.score >= (best?.score ?? 0);
  });
}

/** `declared`: how many of the webhooks' paths occur in any program; `most`: the most that occur in one program. */
function evidenceOf(
  main: MainPackage,
  hints: ChoiceHints,
  { declared, most }: { declared: number; most: number },
): Evidence[] {
  const { paths, pathsBelow } = main;
  const share = (some: ReadonlySet<string>): number => (declared === 0 ? 0 : some.size / declared);
  const all = paths.size === declared ? 'all' : `${paths.size} of the ${declared}`;
  const hasMost = paths.size > 0 && paths.size === most;
  const pathWeight = WEIGHT.paths * share(paths) + (hasMost ? WEIGHT.mostPaths : 0);
  return [
    { weight: hints.ko.includes(main.package) ? WEIGHT.ko : 0, says: 'ko builds it for the Deployment' },
    { weight: pathWeight, says: `its packages contain ${all} webhook paths` },
    { weight: WEIGHT.below * share(pathsBelow), says: 'its subdirectories contain the webhooks' },
    { weight: main.isManager ? WEIGHT.library : 0, says: 'it links a manager library' },
    { weight: main.registersWebhooks ? WEIGHT.registers : 0, says: 'it registers webhooks' },
    imageEvidence(main, hints),
    makefileEvidence(main, hints),
    ...nameEvidence(main, hints),
    {
      weight: isToolDirectory(main.package) ? WEIGHT.tool : 0,
      says: 'is in a directory of tools or tests',
    },
    {
      weight: isCommandLineTool(main, hints) ? WEIGHT.commandLine : 0,
      says: 'is named like a command line tool',
    },
  ];
}

function isCommandLineTool(main: MainPackage, { program }: ChoiceHints): boolean {
  const own = nameOf(main);
  return own !== program && COMMAND_LINE_NAME.test(own);
}

const NONE: Evidence = { weight: 0, says: '' };

/** What the Dockerfiles of the Deployment's image build. */
function imageEvidence(main: MainPackage, hints: ChoiceHints): Evidence {
  const found = imagesOf(hints).flatMap((dockerfile) =>
    dockerfile.recipes
      .filter((recipe) => recipe.package === main.package)
      .map((recipe) => ({ file: dockerfile.file, program: builtProgram(recipe, dockerfile, hints) })),
  );
  const best = found.find(({ program }) => program !== undefined) ?? found[0];
  if (best !== undefined) {
    const { file, program } = best;
    return program === undefined
      ? { weight: WEIGHT.builds, says: `${the(file)} builds it` }
      : { weight: WEIGHT.image, says: `${the(file)} builds it as ${program}` };
  }
  const beside = imagesOf(hints).find(({ file }) => `./${dirname(file)}` === main.package);
  return beside ? { weight: WEIGHT.builds, says: `${beside.file} is beside it` } : NONE;
}

/** The container's program, if the recipe builds it. If the container names none, one that the Dockerfile's images run. */
function builtProgram(
  recipe: BuildRecipe,
  { programs }: GoDockerfile,
  hints: ChoiceHints,
): string | undefined {
  const wanted = hints.program === undefined ? programs : [hints.program];
  return wanted.find((name) => buildsAs(recipe, name));
}

export function the(file: string): string {
  return file === 'Dockerfile' ? 'the Dockerfile' : file;
}

function makefileEvidence(main: MainPackage, hints: ChoiceHints): Evidence {
  const own = hints.makefile.filter((recipe) => recipe.package === main.package);
  const program = programsOf(hints).find((name) => own.some((recipe) => buildsAs(recipe, name)));
  if (program !== undefined) return { weight: WEIGHT.makefile, says: `the Makefile builds it as ${program}` };
  return own.length > 0 ? { weight: WEIGHT.makes, says: 'the Makefile builds it' } : NONE;
}

/** The directory of a package is usually named after its program. */
function nameEvidence(main: MainPackage, hints: ChoiceHints): Evidence[] {
  const own = nameOf(main);
  const program = programsOf(hints).find((name) => name === own);
  const { image } = hints;
  const isImage = image === own;
  const partOf = [image ?? '', ...hints.names].find((whole) => isPart(own, whole));
  return [
    program === undefined
      ? NONE
      : {
          weight: hints.program === undefined ? WEIGHT.folder : WEIGHT.program,
          says: `its name is that of the program, ${program}`,
        },
    isImage ? { weight: WEIGHT.folder, says: `its name is that of the image, ${image}` } : NONE,
    partOf === undefined || isImage ? NONE : { weight: WEIGHT.name, says: `its name is part of ${partOf}` },
  ];
}

/** The program that the container names; if it names none, the programs of its image's Dockerfiles. */
export function programsOf(hints: ChoiceHints): string[] {
  if (hints.program !== undefined) return [hints.program];
  return [...new Set(imagesOf(hints).flatMap(({ programs }) => programs))];
}

/** The Dockerfiles that can be for the Deployment's image. */
export function imagesOf(hints: ChoiceHints): GoDockerfile[] {
  const builds = ({ recipes }: GoDockerfile, program: string): boolean =>
    recipes.some((recipe) => buildsAs(recipe, program));
  return ofImage(hints.dockerfiles, hints, builds);
}

/** If a directory has a common name, its parent's name is used instead: './shop/cmd'. */
const COMMON = new Set(['.', '', 'cmd', 'src', 'main', 'app', 'pkg']);

function nameOf(main: MainPackage): string {
  const parts = main.package.split('/').reverse();
  return parts.find((part) => !COMMON.has(part)) ?? main.module;
}

export function buildsAs({ output }: BuildRecipe, program: string | undefined): boolean {
  return output !== undefined && output === program;
}

/** The clues that put the best ahead of the second, the most decisive first. */
function differences(best: Candidate, second: Candidate): string {
  const ahead = best.evidence.flatMap(({ weight, says }, index) => {
    const other = second.evidence[index]!;
    const by = weight - other.weight;
    return by > 0
      ? [{ by, says: weight > 0 ? says : `the second best, ${second.package}, ${other.says}` }]
      : [];
  });
  return ahead
    .sort((a, b) => b.by - a.by)
    .slice(0, 2)
    .map(({ says }) => says)
    .join('; ');
}

function whyTheOnly(best: Candidate, mains: MainPackage[]): string {
  if (mains.length === 1) return 'the only main package';
  const heaviest = best.evidence.toSorted((a, b) => b.weight - a.weight)[0];
  return heaviest
    ? `of ${mains.length} main packages, the only one that can be a manager: ${heaviest.says}`
    : '';
}

/** Whether a package is in a directory of tools, tests or examples. */
function isToolDirectory(goPackage: string): boolean {
  return TOOLS.test(goPackage);
}

const TOOLS = /(?:^|\/)(?:hack|tests?|tools?|examples?|samples?|docs?|e2e|scripts?|internal\/tools?)(?:\/|$)/;

/**
 * Whether a program has the name of a command line tool. Such a tool can link the operator's packages to install it, or to validate objects
 * as its webhooks do, but it does not run in the cluster.
 */
const COMMAND_LINE_NAME = /^kubectl[-_]|ctl$|(?:^|-)cli$/;

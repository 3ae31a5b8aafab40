import type { BuildRecipe } from './recipes.ts';

export interface MainPackage {
  /** './cmd' */
  package: string;
  /** Managers import controller-runtime, tools do not. */
  importsControllerRuntime: boolean;
  /** Where its sources contain the paths of the webhooks; looked up only if several packages import controller-runtime. */
  webhooks?: 'below it' | 'elsewhere';
}

export interface ChoiceHints {
  /** The file name of the program that the Deployment runs. */
  program: string | undefined;
  dockerfile: BuildRecipe[];
  makefile: BuildRecipe[];
  /** Packages that ko builds for the Deployment. */
  ko: string[];
}

export type Choice =
  | {
      package: string;
      source: string;
      /** No other package could be the manager. */
      certain: boolean;
    }
  | { candidates: string[] };

const TOOL_DIRECTORY = /^\.\/(hack|tests?|tools?|examples?|docs?|e2e|scripts?)(\/|$)/;

/** Narrows down the main packages clue by clue; a clue that fits none of those left is ignored. */
export function chooseMainPackage(mains: MainPackage[], hints: ChoiceHints): Choice {
  const clues: { source: string; fits: (main: MainPackage) => boolean }[] = [
    { source: 'ko builds it for the Deployment', fits: (main) => hints.ko.includes(main.package) },
    { source: 'it imports controller-runtime', fits: (main) => main.importsControllerRuntime },
    { source: 'its sources contain the webhook paths', fits: (main) => main.webhooks !== undefined },
    { source: 'its subdirectories contain the webhooks', fits: (main) => main.webhooks === 'below it' },
    {
      source: `the Dockerfile builds it as ${hints.program}`,
      fits: builtBy(hints.dockerfile.filter(buildsAs(hints.program))),
    },
    {
      source: `its name is that of the Deployment's program, ${hints.program}`,
      fits: (main) => main.package.endsWith(`/${hints.program}`),
    },
    { source: 'the Dockerfile builds it', fits: builtBy(hints.dockerfile) },
    {
      source: `the Makefile builds it as ${hints.program}`,
      fits: builtBy(hints.makefile.filter(buildsAs(hints.program))),
    },
    { source: 'the Makefile builds it', fits: builtBy(hints.makefile) },
    { source: 'the others are tools or tests', fits: (main) => !TOOL_DIRECTORY.test(main.package) },
  ];
  let left = mains;
  let source = 'the only main package';
  for (const clue of clues) {
    const fitting = left.filter(clue.fits);
    if (fitting.length > 0 && fitting.length < left.length) source = clue.source;
    if (fitting.length > 0) left = fitting;
  }
  const only = left[0];
  if (only === undefined || left.length > 1) return { candidates: left.map((main) => main.package) };
  const rivals = mains.filter((main) => main.importsControllerRuntime && main !== only);
  const certain = hints.ko.includes(only.package) || (only.importsControllerRuntime && rivals.length === 0);
  return { package: only.package, source, certain };
}

/** How the package is built: by the Dockerfile rather than the Makefile, and preferably under the name of the Deployment's program. */
export function recipeOf(
  goPackage: string,
  { program, dockerfile, makefile }: ChoiceHints,
): { recipe: BuildRecipe; source: string } | undefined {
  for (const [recipes, source] of [
    [dockerfile, 'the Dockerfile'],
    [makefile, 'the Makefile'],
  ] as const) {
    const its = recipes.filter((recipe) => recipe.package === goPackage);
    const recipe = its.find(buildsAs(program)) ?? its[0];
    if (recipe) return { recipe, source };
  }
  return undefined;
}

/** False when the Deployment has no command, which leaves the name of the program unknown. */
function buildsAs(program: string | undefined): (recipe: BuildRecipe) => boolean {
  return ({ output }) => output !== undefined && output === program;
}

function builtBy(recipes: BuildRecipe[]): (main: MainPackage) => boolean {
  return (main) => recipes.some((recipe) => recipe.package === main.package);
}

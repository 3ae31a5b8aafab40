import { buildsAs, type ChoiceHints, ofImage, programsOf, the } from './choice.ts';
import type { Dockerfile } from './dockerfile.ts';
import type { BuildRecipe } from './recipes.ts';

/**
 * How the package is built. A recipe in a Dockerfile of the image comes before the Makefile's, and a recipe that builds the container's
 * program comes before others. A Dockerfile without a build of its own copies its program or runs make, so the Makefile's recipe for that
 * program counts as the image's.
 */
export function recipeOf(
  goPackage: string,
  hints: ChoiceHints,
): { recipe: BuildRecipe; source: string } | undefined {
  const own = (recipes: BuildRecipe[]): BuildRecipe[] =>
    recipes.filter((recipe) => recipe.package === goPackage);
  const best = (recipes: BuildRecipe[]): BuildRecipe | undefined =>
    recipes.find((recipe) => programsOf(hints).some((name) => buildsAs(recipe, name))) ?? recipes[0];
  const made = own(hints.makefile);
  const images = ofImage(hints).map((dockerfile) => {
    const outside = made.find((recipe) => isFromMake(recipe, dockerfile, hints));
    return outside
      ? { recipe: outside, source: 'the Makefile' }
      : { recipe: best(own(dockerfile.recipes)), source: the(dockerfile.file) };
  });
  const all = [...images, { recipe: best(made), source: 'the Makefile' }];
  for (const { recipe, source } of all) if (recipe) return { recipe, source: recipe.script ?? source };
  return undefined;
}

function isFromMake(
  recipe: BuildRecipe,
  { recipes, programs }: Dockerfile,
  { program }: ChoiceHints,
): boolean {
  const runs = program === undefined ? programs : programs.filter((name) => name === program);
  return recipes.length === 0 && runs.some((name) => buildsAs(recipe, name));
}

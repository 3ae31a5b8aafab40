import { join } from 'node:path';
import { readTextFile } from '../../machine/text-file.ts';
import { type BuildRecipe, buildRecipes } from './recipes.ts';

/** `./hack/build.sh`, as a Makefile or a Dockerfile calls it. */
const CALLED = /(?:^|[\s"'@(;&|])((?:\.\/)?\w[\w-]*(?:\/[\w-][\w.-]*)*\.(?:ba)?sh)(?=$|[\s"');&|])/gm;
/** A limit: no project calls more scripts to build one program. */
const MOST = 20;

/** The builds in the scripts that a Makefile or Dockerfile calls. The paths of the scripts are relative to `directory`. */
export async function scriptRecipes(
  text: string,
  { directory, module }: { directory: string; module: string },
): Promise<BuildRecipe[]> {
  const called = [...new Set([...text.matchAll(CALLED)].map(([, path]) => path!.replace(/^\.\//, '')))];
  const recipes = called.slice(0, MOST).map(async (script) => {
    const written = await readTextFile(join(directory, script));
    return buildRecipes(written, module).map((recipe) => ({ ...recipe, script }));
  });
  return (await Promise.all(recipes)).flat();
}

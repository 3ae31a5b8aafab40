import { join } from 'node:path';
import type { Checkout } from '../files.ts';
import { type BuildRecipe, buildRecipes } from './recipes.ts';

/** `./hack/build.sh`, as a Makefile or a Dockerfile calls it. */
const CALLED = /(?:^|[\s"'@(;&|])((?:\.\/)?\w[\w-]*(?:\/[\w-][\w.-]*)*\.(?:ba)?sh)(?=$|[\s"');&|])/gm;
/** A limit: no project calls more scripts to build one program. */
const MOST = 20;

/** The builds in the scripts that a Makefile or Dockerfile calls. The paths of the scripts are relative to `directory`. */
export function scriptRecipes(
  text: string,
  { checkout, directory, module }: { checkout: Checkout; directory: string; module: string },
): BuildRecipe[] {
  const called = [...new Set([...text.matchAll(CALLED)].map(([, path]) => path!.replace(/^\.\//, '')))];
  return called.slice(0, MOST).flatMap((script) => {
    const written = checkout.text(join(directory, script));
    return buildRecipes(written, module).map((recipe) => ({ ...recipe, script }));
  });
}

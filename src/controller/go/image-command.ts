import { type ChoiceHints, ofImage } from './choice.ts';
import { type ImageCommand, programName } from './dockerfile.ts';
import type { ImageFile } from './image-files.ts';

/** How the manager's image starts the program of a main package, and where that is written. */
export interface FoundCommand extends ImageCommand {
  source: string;
}

/**
 * A container without a `command` gets the words of its image's ENTRYPOINT, and without `args` those of its CMD. Undefined where no
 * Dockerfile of the image starts a program that is built from the package, or several do in different ways.
 */
export function imageCommandOf(goPackage: string, hints: ChoiceHints): FoundCommand | undefined {
  const images = ofImage(hints);
  const recipes = [...images.flatMap((one) => one.recipes), ...hints.makefile];
  const outputs = new Set(recipes.filter((one) => one.package === goPackage).map(({ output }) => output));
  const found = images.flatMap(({ file, commands }) =>
    commands
      .filter(({ entrypoint, cmd }) => outputs.has(programName([...entrypoint, ...cmd])))
      .map((command) => ({ ...command, source: file })),
  );
  const different = new Map(found.map((one) => [JSON.stringify([one.entrypoint, one.cmd]), one]));
  return different.size === 1 ? found[0] : undefined;
}

/** What the image of a Deployment has of the checkout, as far as its Dockerfiles agree. */
export function filesOfImage(hints: ChoiceHints): ImageFile[] {
  const byPlace = Map.groupBy(
    ofImage(hints).flatMap(({ files }) => files),
    ({ to }) => to,
  );
  return [...byPlace.values()].flatMap((same) =>
    new Set(same.map(({ from }) => from)).size === 1 ? same.slice(0, 1) : [],
  );
}

import { type ChoiceHints, ofImage } from './choice.ts';
import { type ImageCommand, programName } from './dockerfile.ts';
import type { ImageFile } from './image-files.ts';
import { agreedVariables } from './image-variables.ts';

/** How the manager's image starts the program of a main package, and where that is written. */
export interface FoundCommand extends ImageCommand {
  source: string;
}

/**
 * How the image starts the package's program: a container without a `command` uses the words of ENTRYPOINT, and one without `command` and
 * `args` also those of CMD. Undefined if no Dockerfile of the image starts a program that is built from the package, or several do in
 * different ways.
 */
export function imageCommandOf(goPackage: string, hints: ChoiceHints): FoundCommand | undefined {
  const outputs = outputsOf(goPackage, hints);
  const found = ofImage(hints).flatMap(({ file, commands }) =>
    commands
      .filter(({ entrypoint, cmd }) => outputs.has(programName([...entrypoint, ...cmd])))
      .map((command) => ({ ...command, source: file })),
  );
  const different = new Map(found.map((one) => [JSON.stringify([one.entrypoint, one.cmd]), one]));
  return different.size === 1 ? found[0] : undefined;
}

/** The variables that the image of the package's program sets, except those on whose value its Dockerfiles disagree. */
export function variablesOfImage(goPackage: string, hints: ChoiceHints): Record<string, string> {
  const outputs = outputsOf(goPackage, hints);
  const own = ofImage(hints).filter(({ programs }) => programs.some((program) => outputs.has(program)));
  return agreedVariables(own.map(({ variables }) => variables));
}

/** The file names under which recipes build the package. */
function outputsOf(goPackage: string, hints: ChoiceHints): Set<string | undefined> {
  const recipes = [...ofImage(hints).flatMap((one) => one.recipes), ...hints.makefile];
  return new Set(recipes.filter((one) => one.package === goPackage).map(({ output }) => output));
}

/** The files of the checkout in the Deployment's image, except those on whose source its Dockerfiles disagree. */
export function filesOfImage(hints: ChoiceHints): ImageFile[] {
  const byPlace = Map.groupBy(
    ofImage(hints).flatMap(({ files }) => files),
    ({ to }) => to,
  );
  return [...byPlace.values()].flatMap((same) =>
    new Set(same.map(({ from }) => from)).size === 1 ? same.slice(0, 1) : [],
  );
}

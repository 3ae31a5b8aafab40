import type { ImageCommand } from '../image/dockerfile.ts';
import { programName } from '../image/started-words.ts';
import { agreedVariables } from '../image/variables.ts';
import { agreedCommand } from '../image/workload-image.ts';
import type { FoundCommand } from '../language.ts';
import { type ChoiceHints, imagesOf } from './choice.ts';

/**
 * How the image starts the package's program: a container without a `command` uses the words of ENTRYPOINT, and one without `command` and
 * `args` also those of CMD. Undefined if no Dockerfile of the image starts a program that is built from the package, or several do in
 * different ways.
 */
export function imageCommandOf(goPackage: string, hints: ChoiceHints): FoundCommand | undefined {
  const outputs = outputsOf(goPackage, hints);
  const isOwn = ({ entrypoint, cmd }: ImageCommand): boolean =>
    outputs.has(programName([...entrypoint, ...cmd]));
  return agreedCommand(
    imagesOf(hints).map(({ file, commands }) => ({ file, commands: commands.filter(isOwn) })),
  );
}

/** The variables that the image of the package's program sets, except those on whose value its Dockerfiles disagree. */
export function variablesOfImage(goPackage: string, hints: ChoiceHints): Record<string, string> {
  const outputs = outputsOf(goPackage, hints);
  const own = imagesOf(hints).filter(({ programs }) => programs.some((program) => outputs.has(program)));
  return agreedVariables(own.map(({ variables }) => variables));
}

/** The file names under which recipes build the package. */
function outputsOf(goPackage: string, hints: ChoiceHints): Set<string | undefined> {
  const recipes = [...imagesOf(hints).flatMap((one) => one.recipes), ...hints.makefile];
  return new Set(recipes.filter((one) => one.package === goPackage).map(({ output }) => output));
}

import { join } from 'node:path';
import type { Checkout } from '../files.ts';
import type { FoundProgram, ProgramHints } from '../language.ts';
import { goBuildCommand } from './build-command.ts';
import { sourcesOf } from './kept-note.ts';
import { electsPod, linkedPackages, readsVariable } from './linked-packages.ts';
import { findMainPackage } from './main-package.ts';
import { reconcileOverlay } from './overlay.ts';
import { preflight } from './preflight.ts';

/** The main package that is the manager, and how it is built and run. */
export async function goProgram(checkout: Checkout, hints: ProgramHints): Promise<FoundProgram> {
  const { directory, prepared, callTags, isBuilt = false, emit, signal } = hints;
  const main = await findMainPackage(checkout, hints);
  const { directory: cwd, package: goPackage, image, runAs, withoutChosen } = main;
  const flags = main.flags.map(({ flag }) => flag);
  const binary = join(directory, 'controller');
  const overlay = callTags && (await reconcileOverlay(main, callTags, isBuilt));
  const build = goBuildCommand(goPackage, binary, overlay ? [...flags, overlay] : flags);
  const upToDate = prepared?.upToDate;
  const output = build.indexOf(binary);
  const isKnown = upToDate?.isMadeBy({ cwd, command: build, output });
  const linked = linkedPackages(
    { directory: cwd, goPackage, flags },
    { emit, signal, known: isKnown ? upToDate!.packages : undefined },
  );
  return {
    what: 'main package',
    name: main.name,
    source: main.source,
    chosen: main.flags,
    cwd,
    build,
    output,
    run: [binary, '{args}'],
    withoutChosen,
    runAs,
    preflight: (ended) => preflight(main, ended),
    watch: sourcesOf(cwd, { goPackage, flags }),
    linked,
    electsPod: () => electsPod(linked),
    readsKubeconfig: () => readsVariable(linked),
    hasWebhooks: main.hasWebhooks,
    rivals: main.rivals,
    image,
    imageFiles: main.imageFiles,
    imageVariables: main.imageVariables,
  };
}

import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { DevloopError } from '../../errors.ts';
import { type BuildFlag, buildFlags } from './build-command.ts';
import { allMains, type GoModule, usualMains } from './candidates.ts';
import { type ChoiceHints, chooseMainPackage, recipeOf } from './choice.ts';
import { koPackages } from './ko.ts';
import { type BuildRecipe, buildRecipes } from './recipes.ts';
import { readGoFlags } from './toolchain.ts';

export interface MainPackageHints {
  /** The command of the Deployment's container. */
  command?: string[];
  /** The HTTP paths of its webhooks. */
  paths?: string[];
  /** The name of the Deployment, StatefulSet or DaemonSet. */
  workload?: string | undefined;
  signal?: AbortSignal | undefined;
}

const NAME_IT = `Name it in devloop.yaml: controller: {build: [go, build, -o, bin/manager, ./cmd/manager], run: [bin/manager]}`;

export interface FoundMain {
  package: string;
  source: string;
  /** For `go build`, in addition to the user's GOFLAGS. */
  flags: BuildFlag[];
}

/** The Go package of the operator's manager, and how devloop chose it. */
export async function findMainPackage(directory: string, hints: MainPackageHints): Promise<FoundMain> {
  const module = await readModule(directory);
  const [dockerfile, makefile, mains, ko, userFlags] = await Promise.all([
    recipesOf(module, 'Dockerfile'),
    recipesOf(module, 'Makefile'),
    usualMains(directory),
    hints.workload === undefined ? [] : koPackages(module, hints.workload),
    readGoFlags(directory, hints.signal),
  ]);
  const program = hints.command?.[0] === undefined ? undefined : basename(hints.command[0]);
  const clues: ChoiceHints = { program, dockerfile, makefile, ko };
  const found = (main: { package: string; source: string }): FoundMain => ({
    package: main.package,
    source: main.source,
    flags: buildFlags(recipeOf(main.package, clues), userFlags),
  });
  const usual = chooseMainPackage(mains, clues);
  if ('package' in usual && usual.certain) return found(usual);
  const choice = chooseMainPackage(await allMains(module, hints.paths ?? [], hints.signal), clues);
  if ('package' in choice) return found(choice);
  throw noMain(choice.candidates);
}

async function readModule(directory: string): Promise<GoModule> {
  const text = await readFile(join(directory, 'go.mod'), 'utf8').catch(() => undefined);
  if (text === undefined) {
    throw new DevloopError(
      'controller.no-main',
      `There is no go.mod in ${directory}, so there is no Go operator to build.`,
      { hint: 'devloop up -- <command> runs an operator in any language.' },
    );
  }
  return { directory, path: /^module\s+(\S+)/m.exec(text)?.[1] ?? '' };
}

function noMain(candidates: string[]): DevloopError {
  if (candidates.length === 0) {
    return new DevloopError('controller.no-main', 'This Go module contains no main package.', {
      hint: 'devloop up -- <command> runs a program that is built elsewhere.',
    });
  }
  return new DevloopError(
    'controller.no-main',
    `Several main packages could be the manager: ${candidates.join(', ')}.`,
    { hint: NAME_IT },
  );
}

async function recipesOf({ directory, path }: GoModule, file: string): Promise<BuildRecipe[]> {
  return buildRecipes(await readFile(join(directory, file), 'utf8').catch(() => ''), path);
}

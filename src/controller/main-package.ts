import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import { DevloopError } from '../errors.ts';
import { type BuildRecipe, buildRecipes } from './build-recipes.ts';
import { goAdvice } from './go-advice.ts';
import { type ChoiceHints, chooseMainPackage, type MainPackage } from './main-package-choice.ts';
import { runTool, type ToolOptions } from './tool.ts';

export interface MainPackageHints {
  /** The command of the Deployment's container. */
  command?: string[];
  signal?: AbortSignal;
}

const CONTROLLER_RUNTIME = 'sigs.k8s.io/controller-runtime';
const NAME_IT = `name it in devloop.yaml: controller: {build: [go, build, -o, bin/manager, ./cmd/manager], run: [bin/manager]}`;

/** The Go package of the operator's manager, and why it is that one. */
export async function findMainPackage(
  directory: string,
  hints: MainPackageHints,
): Promise<{ package: string; source: string }> {
  await requireGoModule(directory, hints.signal);
  const clues: ChoiceHints = {
    program: hints.command?.[0] === undefined ? undefined : basename(hints.command[0]),
    dockerfile: await recipesOf(join(directory, 'Dockerfile')),
    makefile: await recipesOf(join(directory, 'Makefile')),
  };
  const usual = chooseMainPackage(await mainsOfUsualPlaces(directory), clues);
  if ('package' in usual && usual.certain) return { package: usual.package, source: usual.source };
  const choice = chooseMainPackage(await mainsOfModule(directory, hints.signal), clues);
  if ('package' in choice) return { package: choice.package, source: choice.source };
  throw noMain(choice.candidates);
}

async function requireGoModule(directory: string, signal: AbortSignal | undefined): Promise<void> {
  if (!(await exists(join(directory, 'go.mod')))) {
    throw new DevloopError(
      'controller.no-main',
      `There is no go.mod in ${directory}, so there is no Go operator to build.`,
      {
        hint: 'devloop up -- <command> runs an operator in any language',
      },
    );
  }
  const { missing } = await runTool(['go', 'env', 'GOVERSION'], within(directory, signal));
  if (missing) {
    throw new DevloopError(
      'controller.no-toolchain',
      'The operator is written in Go, but there is no go on the PATH.',
      {
        hint: 'Install Go from https://go.dev/dl, or run a built operator: devloop up -- <command>',
      },
    );
  }
}

/** Where kubebuilder and operator-sdk put it: read from the files, as `go list` takes seconds in a large module. */
async function mainsOfUsualPlaces(directory: string): Promise<MainPackage[]> {
  const below = await readdir(join(directory, 'cmd'), { withFileTypes: true }).catch(() => []);
  const places = [
    '.',
    './cmd',
    ...below.filter((entry) => entry.isDirectory()).map(({ name }) => `./cmd/${name}`),
  ];
  const mains = await Promise.all(places.map((place) => readMain(directory, place)));
  return mains.filter((main) => main !== undefined);
}

async function readMain(directory: string, place: string): Promise<MainPackage | undefined> {
  const names = await readdir(join(directory, place)).catch(() => []);
  const sources = names.filter((name) => name.endsWith('.go') && !name.endsWith('_test.go'));
  const texts = await Promise.all(sources.map((name) => readFile(join(directory, place, name), 'utf8')));
  const mains = texts.filter((text) => /^package main\b/m.test(text) && !/^\/\/go:build ignore$/m.test(text));
  if (mains.length === 0) return undefined;
  return {
    package: place,
    importsControllerRuntime: mains.some((text) => text.includes(`"${CONTROLLER_RUNTIME}`)),
  };
}

/** Every main package of the module; controller-runtime counts too where only a package that it imports does. */
async function mainsOfModule(directory: string, signal: AbortSignal | undefined): Promise<MainPackage[]> {
  const format = '{{if eq .Name "main"}}{{.Dir}}{{"\\t"}}{{join .Deps " "}}{{end}}';
  const result = await runTool(['go', 'list', '-e', '-f', format, './...'], within(directory, signal));
  if (result.code !== 0) {
    const advice = goAdvice(result.stderr);
    throw new DevloopError(
      'controller.no-main',
      `go list failed:\n${result.stderr.trim()}`,
      advice ? { hint: advice } : {},
    );
  }
  return result.stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [found = '', imports = ''] = line.split('\t');
      const path = relative(directory, found).split(sep).join('/');
      return {
        package: path === '' ? '.' : `./${path}`,
        importsControllerRuntime: imports.includes(CONTROLLER_RUNTIME),
      };
    });
}

function noMain(candidates: string[]): DevloopError {
  if (candidates.length === 0) {
    return new DevloopError('controller.no-main', 'This Go module holds no main package.', {
      hint: 'devloop up -- <command> runs a program that is built elsewhere',
    });
  }
  return new DevloopError(
    'controller.no-main',
    `Several main packages could be the manager: ${candidates.join(', ')}.`,
    { hint: NAME_IT },
  );
}

async function recipesOf(file: string): Promise<BuildRecipe[]> {
  return buildRecipes(await readFile(file, 'utf8').catch(() => ''));
}

function within(cwd: string, signal: AbortSignal | undefined): ToolOptions {
  return signal ? { cwd, signal } : { cwd };
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}

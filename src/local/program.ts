import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Work } from '../cluster/work.ts';
import type { Config } from '../config/schema.ts';
import type { BegunBuild } from '../controller/begun-build.ts';
import { type DebugBuild, goBuildCommand } from '../controller/go/build-command.ts';
import type { FoundCommand } from '../controller/go/image-command.ts';
import type { ImageFile } from '../controller/go/image-files.ts';
import {
  electsPod,
  type LinkedPackages,
  linkedPackages,
  ofProgram,
  onlyKubeconfigFlags,
} from '../controller/go/linked-packages.ts';
import { findMainPackage, type MainPackageHints } from '../controller/go/main-package.ts';
import type { ControllerPlan } from '../controller/supervisor.ts';
import { watchRoot } from '../controller/watch/scope.ts';
import { DevloopError, documentPath } from '../errors.ts';
import { canPlace } from '../machine/mount-namespace.ts';
import type { DefinedFlag } from '../operator/cobra-commands.ts';
import type { ElectionFlag } from '../operator/leader-election.ts';
import type { Target } from '../operator/target.ts';
import type { Emit } from '../report/events.ts';
import { programOf } from './container-words.ts';

/** What is known about the program from the user, the sources and the cluster. */
export interface ProgramInputs {
  target: Target;
  root: string;
  settings: NonNullable<Config['controller']>;
  /** The command that the user gave after `--`. */
  command?: string[] | undefined;
  /** Present if the program runs under a debugger. */
  forDebugger?: DebugBuild | undefined;
  /** Whether the program is built and run next. */
  isBuilt?: boolean | undefined;
  /** The main package that the user gave with `--package`. */
  goPackage?: string | undefined;
  /** The main package that a saved set names. */
  recordedPackage?: string | undefined;
  /** The user's GOFLAGS, if they are being read already. */
  goFlags?: Promise<string> | undefined;
  /** The build of the last session. */
  begun?: Pick<BegunBuild, 'packagesOf'> | undefined;
  /** The directory to build the program in. */
  directory: string;
  /** The name of the Pod that stands in for the manager's own Pods, if these end. */
  standIn?: string | undefined;
  /** The flags named --kubeconfig in the sources. */
  kubeconfigFlags: DefinedFlag[];
  electionFlags: ElectionFlag[];
}

/** How the program is built and started. */
export interface PlannedProgram {
  build: string[] | undefined;
  /** See BuildPlan. */
  withoutChosen?: string | undefined;
  /** The word `{args}` stands for the manager's arguments. */
  run: string[];
  /** The name under which the program is started; absent if the name does not matter. */
  runAs?: string | undefined;
  cwd: string;
  /** The main package, as `--package` takes it; absent for the user's own command. */
  package?: string | undefined;
  watch: NonNullable<ControllerPlan['watch']>;
  /** The program's --kubeconfig flags, if it reads its kubeconfig from nothing else. */
  kubeconfigFlags: DefinedFlag[];
  /** The program's packages; absent for the user's own command. */
  linked?: LinkedPackages;
  /** Whether leader election stays on, because the program can be elected as the Pod that stands in for the manager's. */
  isElectable: boolean;
  /** The program's flags whose default leaves leader election on. */
  electionFlags: ElectionFlag[];
  /** Other main packages that could be the manager. */
  rivals: string[];
  /** The command with which the manager's image starts the program. */
  image?: FoundCommand | undefined;
  /** The files of the checkout in its image. */
  imageFiles: ImageFile[];
  /** The variables that its image sets. */
  imageVariables: Record<string, string>;
  /** Whether an exit with code 0 asks for a restart: see ControllerPlan. */
  asksForRestart: boolean;
}

/** Stands for the manager's arguments in the user's own command. */
export const ARGUMENTS = '{args}';

/** What is known about the program of the user's own command. */
const COMMAND = {
  kubeconfigFlags: [],
  isElectable: false,
  electionFlags: [],
  imageFiles: [],
  imageVariables: {},
  rivals: [],
  asksForRestart: true,
};

/** The absolute paths. Warns about those that do not exist. */
function watchedPaths(root: string, named: string[] | undefined, emit: Emit): string[] | undefined {
  for (const path of named ?? []) {
    if (existsSync(watchRoot(root, path))) continue;
    const message = `controller.watch in devloop.yaml names ${path}, which does not exist, so nothing there is watched.`;
    emit({ type: 'warning', message });
  }
  return named?.map((path) => resolve(root, path));
}

/** Plans how to build and start the program: the user's command, or the main package of the checkout that is the manager. */
export async function planProgram(
  inputs: ProgramInputs,
  { emit, signal }: Pick<Work, 'emit' | 'signal'>,
): Promise<PlannedProgram> {
  const { root, settings, command, directory } = inputs;
  const watched = watchedPaths(root, settings.watch, emit);
  if (settings.package !== undefined && (settings.run ?? settings.build) !== undefined)
    throw packageAndCommand();
  const named = namedPackage(inputs);
  const run = command ?? (inputs.goPackage === undefined ? settings.run : undefined);
  if (run !== undefined) {
    assertNotDebugged(inputs, run);
    assertWholeWords(run);
    const source = command ? 'named by you' : 'devloop.yaml';
    emit({ type: 'discovered', what: 'command', value: run.join(' '), source });
    return {
      ...COMMAND,
      build: settings.build,
      run,
      cwd: root,
      watch: watched ? { paths: watched } : { checkout: root },
    };
  }
  if (settings.build !== undefined && named === undefined) throw buildWithoutRun();
  const { forDebugger, isBuilt, goFlags } = inputs;
  const hints = { ...mainPackageHints(inputs.target, signal), named, emit, forDebugger, isBuilt, goFlags };
  const main = await findMainPackage(root, hints);
  emit({ type: 'discovered', what: 'main package', value: main.name, source: main.source });
  for (const { what, value, source } of main.flags) emit({ type: 'discovered', what, value, source });
  const flags = main.flags.map(({ flag }) => flag);
  const binary = join(directory, 'controller');
  const program = { directory: main.directory, goPackage: main.package, flags };
  const build = goBuildCommand(main.package, binary, flags);
  const output = build.indexOf(binary);
  const known = inputs.begun?.packagesOf({ cwd: main.directory, command: build, output });
  const linked = linkedPackages(program, { emit, signal, known });
  return {
    build,
    withoutChosen: main.withoutChosen,
    run: [binary, ARGUMENTS],
    runAs: main.runAs,
    cwd: main.directory,
    package: main.name,
    watch: watched ? { paths: watched } : { goPackage: main.package, flags },
    kubeconfigFlags: await onlyKubeconfigFlags(linked, inputs.kubeconfigFlags),
    isElectable: await canBeElected(inputs, linked, emit),
    electionFlags: await ofProgram(linked, inputs.electionFlags),
    linked,
    rivals: main.rivals,
    image: main.image,
    imageFiles: main.imageFiles,
    imageVariables: main.imageVariables,
    asksForRestart: main.rivals.length === 0 || main.hasWebhooks,
  };
}

/** Whether the program can be elected: a program whose leader is a Pod needs the files of a ServiceAccount to find its own Pod. */
async function canBeElected(
  { standIn }: ProgramInputs,
  linked: LinkedPackages,
  emit: Emit,
): Promise<boolean> {
  const can = standIn !== undefined && (await canPlace()) && (await electsPod(linked));
  if (can) {
    const message = `Leader election stays on:\nthis program elects a Pod as its leader, and Pod ${standIn} stands in for the manager's Pod.`;
    emit({ type: 'note', message });
  }
  return can;
}

/** The main package that the user named: the flag overrides devloop.yaml, which overrides a saved set. */
export function namedPackage({
  goPackage,
  recordedPackage,
  settings,
}: Pick<ProgramInputs, 'goPackage' | 'recordedPackage' | 'settings'>): MainPackageHints['named'] {
  if (goPackage !== undefined) return { package: goPackage, source: '--package' };
  if (settings.package !== undefined)
    return { package: settings.package, source: 'devloop.yaml: controller.package' };
  return recordedPackage === undefined
    ? undefined
    : { package: recordedPackage, source: 'it answered the reviews of the set' };
}

/** What the cluster reveals about the operator's program. */
export function mainPackageHints(target: Target | undefined, signal: AbortSignal): MainPackageHints {
  const { object, container } = target?.manager ?? {};
  const { command = [] } = container ?? {};
  // The program is '' if the arguments do not begin with one.
  const [program = ''] = target ? programOf(target, undefined) : [];
  return {
    command: command.length > 0 || program === '' ? command : [program],
    image: container?.image,
    container: container?.name,
    workload: object?.metadata.name,
    paths: target?.services.flatMap(({ calls }) => calls.map(({ path }) => path)) ?? [],
    signal,
  };
}

function assertNotDebugged({ forDebugger }: ProgramInputs, run: string[]): void {
  if (!forDebugger) return;
  throw new DevloopError(
    'usage.invalid',
    `--debug builds and debugs a Go program, and devloop does not build \`${run.join(' ')}\`.`,
    { hint: `Start your debugger as the command: ${documentPath('guide.md')}, "Breakpoints"` },
  );
}

function assertWholeWords(run: string[]): void {
  const part = run.find((word) => word !== ARGUMENTS && word.includes(ARGUMENTS));
  if (part === undefined) return;
  throw new DevloopError(
    'usage.invalid',
    `${ARGUMENTS} in \`${part}\` is only part of a word, but it stands for several words.`,
    {
      hint: `Make it a word of its own. With \`sh -c\`: sh -c 'exec node server.mjs "$@"' sh ${ARGUMENTS}`,
    },
  );
}

function packageAndCommand(): DevloopError {
  const message = 'devloop.yaml sets controller.package and also controller.run or controller.build.';
  return new DevloopError('config.invalid', message, {
    hint: 'Keep controller.package to have devloop build and run it, or keep the commands.',
  });
}

export function buildWithoutRun(): DevloopError {
  const message =
    'devloop.yaml sets controller.build without controller.run, so devloop cannot start what it builds.';
  return new DevloopError('config.invalid', message, {
    hint: 'Add controller.run, the command that starts the built program.',
  });
}

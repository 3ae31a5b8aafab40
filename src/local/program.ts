import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { mayLeaveElectionOn } from '../checkout/election-switch.ts';
import type { Checkout } from '../checkout/files.ts';
import { type DefinedFlag, type Flag, isKubeconfigFlag } from '../checkout/flags.ts';
import type {
  BuildTool,
  DebugBuild,
  FoundProgram,
  Language,
  Preflight,
  Prepared,
  ProgramHints,
} from '../checkout/language.ts';
import { ofProgram } from '../checkout/linked-packages.ts';
import type { Work } from '../cluster/work.ts';
import type { ControllerSettings } from '../config/merge.ts';
import type { Section } from '../config/table.ts';
import type { ControllerPlan } from '../controller/supervisor.ts';
import { watchRoot } from '../controller/watch/scope.ts';
import { DevloopError, documentPath } from '../errors.ts';
import { LANGUAGES } from '../languages.ts';
import { canPlace } from '../machine/mount-namespace.ts';
import type { Target } from '../operator/target.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { programOf } from './container-arguments.ts';
import { planCommand } from './own-command.ts';

/** What is known about the program from the user, the sources and the cluster. */
export interface ProgramInputs {
  /** Absent if the cluster does not show it. */
  target: Target | undefined;
  checkout: Checkout;
  settings: Section<'controller'> & Pick<ControllerSettings, 'isNamedByFlag'>;
  /** Present if the program runs under a debugger. */
  forDebugger?: DebugBuild | undefined;
  /** Whether the program is built and run next. */
  isBuilt?: boolean | undefined;
  /** The main package that a saved set names. */
  recordedPackage?: string | undefined;
  prepared?: Prepared | undefined;
  /** See ProgramHints. */
  callTags?: string | undefined;
  /** The directory to build the program in. */
  directory: string;
  /** The name of the Pod that stands in for the manager's own Pods, if these end. */
  standIn?: string | undefined;
  /** The flags that the sources define. */
  flags: Flag[];
  /** The language of the checkout's program, if devloop knows it. */
  language: Language | undefined;
}

/** The user's own command, or the program that devloop found in the checkout, and how it is built and started. */
export type PlannedProgram = ProgramPlan &
  ({ is: 'command'; language: undefined } | { is: 'found'; language: Language; found: FoundProgram });

interface ProgramPlan
  extends Pick<
    FoundProgram,
    | 'build'
    | 'output'
    | 'withoutChosen'
    | 'run'
    | 'argumentsIn'
    | 'runAs'
    | 'cwd'
    | 'ownVariables'
    | 'linked'
    | 'rivals'
    | 'image'
    | 'imageFiles'
    | 'imageVariables'
  > {
  /** See BuildPlan. */
  tool?: BuildTool | undefined;
  /** As `--package` names it; absent for the user's own command. */
  package?: string | undefined;
  watch: NonNullable<ControllerPlan['watch']>;
  /** The program's --kubeconfig flags, if it reads its kubeconfig from nothing else. */
  kubeconfigFlags: DefinedFlag[];
  /** Whether leader election stays on, because the program can be elected as the Pod that stands in for the manager's. */
  isElectable: boolean;
  /** The program's flags whose default leaves leader election on. */
  electionFlags: Flag[];
  /** Whether files can be mounted where it looks for them: the user's own command may need rights that it would lose. */
  mayPlace: boolean;
  /** Whether an exit with code 0 asks for a restart: see ControllerPlan. */
  asksForRestart: boolean;
}

/** The absolute paths. Warns about those that do not exist. */
function watchedPaths(root: string, named: string[] | undefined, emit: Emit): string[] | undefined {
  for (const path of named ?? []) {
    if (existsSync(watchRoot(root, path))) continue;
    emit(notice('watch.missing', { path }));
  }
  return named?.map((path) => resolve(root, path));
}

/** Plans how to build and start the program: the user's command, or the program of the checkout that is the manager. */
export async function planProgram(
  inputs: ProgramInputs,
  { emit, signal }: Pick<Work, 'emit' | 'signal'>,
): Promise<PlannedProgram> {
  const { checkout, settings, directory } = inputs;
  const { root } = checkout;
  const watched = watchedPaths(root, settings.watch, emit);
  if (settings.package !== undefined && (settings.run ?? settings.build) !== undefined)
    throw packageAndCommand();
  const named = namedPackage(inputs);
  const watch = watched && { paths: watched };
  if (settings.run !== undefined) {
    assertNotDebugged(inputs, `\`${settings.run.join(' ')}\``);
    return { ...planCommand(inputs, settings.run, emit), ...(watch && { watch }) };
  }
  if (settings.build !== undefined && named === undefined) throw buildWithoutRun();
  const language = requireLanguage(inputs.language, root);
  if (!language.canDebug) assertNotDebugged(inputs, `a program in ${language.name}`);
  const { forDebugger, isBuilt, prepared, callTags } = inputs;
  const hints = {
    ...programHints(inputs.target, signal),
    ...{ named, emit, forDebugger, isBuilt, prepared, callTags, directory },
  };
  const found = await language.program(checkout, hints);
  if (!language.tool) await requireInstalled(found, signal);
  emit({ type: 'discovered', what: found.what, value: found.name, source: found.source });
  for (const { what, value, source } of found.chosen) emit({ type: 'discovered', what, value, source });
  return {
    ...found,
    is: 'found',
    language,
    found,
    mayPlace: await canPlace(),
    tool: language.tool,
    package: found.name,
    watch: watch ?? (found.watch ? { sources: found.watch } : { checkout: root }),
    kubeconfigFlags: await onlyKubeconfigFlags(found, inputs.flags.filter(isKubeconfigFlag)),
    isElectable: await canBeElected(inputs, found, emit),
    electionFlags: found.linked ? await ofProgram(found.linked, inputs.flags.filter(mayLeaveElectionOn)) : [],
    asksForRestart: found.rivals.length === 0 || found.hasWebhooks,
  };
}

/**
 * Throws 'controller.no-toolchain' if the program cannot be started. A build tool reports this itself; without one, only the program would,
 * when the cluster has already changed.
 */
async function requireInstalled(found: FoundProgram, signal: AbortSignal): Promise<void> {
  const state = await found.preflight(signal);
  if (state.is !== 'broken') return;
  const { message, hint } = brokenProgram(found, state);
  throw new DevloopError('controller.no-toolchain', message, hint === undefined ? {} : { hint });
}

/** Why the program cannot be built or run. */
export function brokenProgram(
  { what, name, build }: Pick<FoundProgram, 'what' | 'name' | 'build'>,
  { problem, hint }: Extract<Preflight, { is: 'broken' }>,
): { message: string; hint: string | undefined } {
  return { message: `${what} ${name} cannot be ${build === undefined ? 'run' : 'built'}:\n${problem}`, hint };
}

/** Throws 'controller.no-main' if devloop knows no language for the checkout's program. */
export function requireLanguage(language: Language | undefined, root: string): Language {
  if (language !== undefined) return language;
  const known = LANGUAGES.map(({ name, signs }) => `${name} (${signs.join(', ')})`).join('; ');
  throw new DevloopError(
    'controller.no-main',
    `devloop recognises no operator in ${root}. It knows operators in ${known}.`,
    { hint: 'devloop up -- <command> runs an operator in any language.' },
  );
}

/**
 * The --kubeconfig flags of a program that finds a kubeconfig by such a flag alone, as servers without controller-runtime do: without the
 * flag, they look for the configuration of a Pod.
 */
async function onlyKubeconfigFlags(
  { linked, readsKubeconfig }: FoundProgram,
  flags: DefinedFlag[],
): Promise<DefinedFlag[]> {
  const own = linked ? await ofProgram(linked, flags) : [];
  return own.length > 0 && (await readsKubeconfig?.()) ? [] : own;
}

/** Whether the program can be elected: a program whose leader is a Pod needs the files of a ServiceAccount to find its own Pod. */
async function canBeElected(
  { standIn }: ProgramInputs,
  { electsPod }: FoundProgram,
  emit: Emit,
): Promise<boolean> {
  const can = standIn !== undefined && (await canPlace()) && ((await electsPod?.()) ?? false);
  if (can) emit(notice('election.stays', { pod: standIn }));
  return can;
}

/** The main package that the user named, or else a saved set. */
export function namedPackage({
  recordedPackage,
  settings,
}: Pick<ProgramInputs, 'recordedPackage' | 'settings'>): ProgramHints['named'] {
  if (settings.package !== undefined) {
    const source = settings.isNamedByFlag ? '--package' : 'devloop.yaml: controller.package';
    return { package: settings.package, source };
  }
  return recordedPackage === undefined
    ? undefined
    : { package: recordedPackage, source: 'it answered the reviews of the set' };
}

/** What the cluster reveals about the operator's program. */
export function programHints(
  target: Target | undefined,
  signal: AbortSignal,
): Omit<ProgramHints, 'directory'> {
  const { object, container } = target?.manager ?? {};
  const { command = [], args = [] } = container ?? {};
  // The program is '' if the arguments do not begin with one.
  const [program = '', ...rest] = target ? programOf(target, undefined) : [];
  return {
    command: command.length > 0 || program === '' ? command : [program],
    args: command.length > 0 || program === '' ? args : rest,
    image: container?.image,
    container: container?.name,
    workload: object?.metadata.name,
    paths: target?.services.flatMap(({ calls }) => calls.map(({ path }) => path)) ?? [],
    signal,
  };
}

function assertNotDebugged({ forDebugger }: ProgramInputs, what: string): void {
  if (!forDebugger) return;
  throw new DevloopError(
    'usage.invalid',
    `--debug debugs only Go programs that devloop builds, and not ${what}.`,
    { hint: `Start your debugger as the command: ${documentPath('guide.md')}, "Breakpoints"` },
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

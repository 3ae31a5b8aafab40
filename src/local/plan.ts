import { existsSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import { readFlags } from '../checkout/command-words.ts';
import type { DebugBuild, Prepared } from '../checkout/language.ts';
import type { Work } from '../cluster/work.ts';
import type { ControllerSettings } from '../config/merge.ts';
import { flagOf } from '../controller/refused-flags.ts';
import type { ControllerPlan } from '../controller/supervisor.ts';
import type { Placed } from '../machine/mount-namespace.ts';
import { isPlaceable } from '../machine/places.ts';
import { type Target, targetPorts } from '../operator/target.ts';
import { mountPointsIn } from '../operator/volumes.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { type ApiAccess, accessPodFiles } from './api-access.ts';
import { applyRules } from './apply-rules.ts';
import { containerArguments } from './container-arguments.ts';
import { isGivenIn } from './default-settings.ts';
import { controllerEnvironment, NAMESPACE_FILE } from './environment.ts';
import { withFlags } from './flag-place.ts';
import { placeImageFiles } from './image-files.ts';
import { localCopies } from './local-copies.ts';
import { readSettings, type SettingsInputs } from './manager-settings.ts';
import type { MountedPath, NeededFiles } from './mounts.ts';
import { ARGUMENTS } from './own-command.ts';
import { planKeyPairs } from './plan-key-pairs.ts';
import { planKubeconfig, readsOneFile } from './plan-kubeconfig.ts';
import type { CopiedVolume, PlannedMounts } from './plan-mounts.ts';
import type { OtherPort } from './ports.ts';
import { type PlannedProgram, planProgram } from './program.ts';
import { type Here, RULES, webhookPort } from './rules.ts';
import type { OpenSettings, StartSettings } from './settings.ts';

/** What the plan of a controller is made from. */
export interface ControllerInputs extends SettingsInputs {
  settings: ControllerSettings;
  /** Finds the port that replaces a port of the Pod on which the controller cannot listen; absent if it can listen on all of them. */
  elsewhere?: ((port: number) => Promise<OtherPort | undefined>) | undefined;
  /** What was begun before the cluster was read. */
  prepared?: Prepared | undefined;
  /** Present if the controller runs under a debugger. */
  forDebugger?: DebugBuild | undefined;
  /** Whether the controller is built and run next; false in a dry run. */
  isBuilt?: boolean | undefined;
  /** Whether what the user wants to be generated before each build is there for the first one. */
  isGenerated?: boolean | undefined;
  /** See ProgramHints. */
  callTags?: string | undefined;
  /** The main package that a saved set names. */
  recordedPackage?: string | undefined;
  /** The name of the Pod that stands in for the manager's own Pods, if these end. */
  standIn?: string | undefined;
  /** Whether the kubeconfig is a single file of devloop's own. */
  hasOwnKubeconfig?: boolean | undefined;
  /** How the program can reach the API proxy; absent in a dry run. */
  proxy?: ApiAccess | undefined;
  /** Whether the program is to reach the API server in no other way. */
  isProxied?: boolean | undefined;
  stateFile: string;
  /** The program if it is planned already, so that only its settings are. */
  program?: PlannedProgram | undefined;
}

export interface PlannedController {
  plan: ControllerPlan;
  program: PlannedProgram;
  settings: StartSettings;
  /** The mounted volumes that are copied. */
  volumes: CopiedVolume[];
  /** For each moved port of the Pod, the port on which the controller listens instead. */
  moved: ReadonlyMap<number, number>;
  /** Other directories in which the program looks for the key pair. */
  hardCoded: string[];
  /** The files that have to be written before the controller starts. */
  needed: NeededFiles[];
}

/** Plans how to build the controller, and how to run it as much like the manager in the cluster as possible. Writes nothing. */
export async function planController(
  inputs: ControllerInputs,
  { emit, signal }: Pick<Work, 'emit' | 'signal'>,
): Promise<PlannedController> {
  const { facts, checkout, files } = inputs;
  const program = inputs.program ?? (await planProgram({ ...inputs, ...facts, ...files }, { emit, signal }));
  const planned = await planSettings(inputs, program, { emit });
  const { settings: own, hidden, moved, paths, words, placed, copied, needed } = planned;
  const args = own.args.map(({ value }) => value);
  const readHere = readFlags(program.kubeconfigFlags, args, facts.commandNames);
  const kubeconfig = planKubeconfig(inputs, readsOneFile(facts, readHere));
  const more = readHere.length > 0 ? kubeconfigFlag(kubeconfig?.paths, emit) : [];
  const keyPairs = await planKeyPairs(inputs, { ...program, words }, { emit });
  const { manager } = inputs.target;
  const mounted = manager === undefined ? [] : mountPointsIn(manager).map(({ path }) => path);
  const ofImage = placeImageFiles(
    { ...program, root: checkout.root, paths: facts.paths, words, mounted },
    emit,
  );
  const proxy = podConnection(inputs, program);
  const mounts = [...placed, ...keyPairs.placed, ...ofImage];
  const pod = program.mayPlace ? podFiles({ ...inputs, proxy }, mounts) : undefined;
  const all = withFlags(args, [...keyPairs.args, ...more], facts.commandNames);
  const [port] = targetPorts(inputs.target.services);
  const plan: ControllerPlan = {
    cwd: program.cwd,
    build: program.build,
    generate: generationOf(inputs),
    output: program.output,
    tool: program.tool,
    withoutChosen: program.withoutChosen,
    run: program.run.flatMap((word) => (word === ARGUMENTS ? all : [word])),
    runAs: program.runAs,
    added: addedTo(inputs.target, program, all),
    hidden,
    env: planEnvironment(
      inputs,
      { ...own, paths, program, kubeconfig: kubeconfig?.paths, connection: pod && proxy?.variables },
      emit,
    ),
    webhook: port === undefined ? undefined : { host: '127.0.0.1', port: moved.get(port) ?? port },
    watch: program.watch,
    package: program.package,
    rivals: program.rivals,
    asksForRestart: program.asksForRestart,
    placed: pod?.placed,
    graceMs: inputs.settings.graceSeconds * 1000,
    readyMs: inputs.settings.readySeconds * 1000,
    stateFile: inputs.stateFile,
    keptProgram: inputs.keptProgram,
  };
  return {
    ...{ plan, program, settings: own, moved },
    volumes: copied,
    hardCoded: keyPairs.hardCoded,
    needed: [...needed, ...(kubeconfig?.needed ?? []), ...(pod?.needed ?? [])],
  };
}

function generationOf({ settings, checkout, isGenerated }: ControllerInputs): ControllerPlan['generate'] {
  const { generate } = settings;
  return generate && { command: generate, cwd: checkout.root, isDone: isGenerated };
}

function kubeconfigFlag([file]: string[] = [], emit: Emit): string[] {
  if (file === undefined) return [];
  const change = { setting: '--kubeconfig', after: file };
  const because = 'the program may read its kubeconfig only from this flag';
  emit(notice('setting.changed', { place: 'default', ...change, because }));
  return [`${change.setting}=${file}`];
}

/** The arguments with flags that the manager's own arguments do not set. */
function addedTo(target: Target, { image }: PlannedProgram, all: string[]): string[] {
  const isGiven = isGivenIn(containerArguments(target, image, () => {}));
  return all.filter((word) => flagOf(word) !== '' && !isGiven(flagOf(word)));
}

interface PlannedSettings extends PlannedMounts {
  settings: StartSettings;
  /** For arguments with values of Secrets: what is shown of them. */
  hidden: Map<string, string>;
  moved: Map<number, number>;
  /** The copies of the mounted files. */
  needed: NeededFiles[];
}

/** Only what devloop adds to a program (`callTags`) reads it. */
function reportingTo(proxy: ApiAccess | undefined): Record<string, string> {
  return proxy?.reports === undefined ? {} : { DEVLOOP_CALLS: proxy.reports };
}

/** The manager's arguments, variables and mounted files, changed only where they cannot work on this machine. */
async function planSettings(
  inputs: ControllerInputs,
  program: PlannedProgram,
  { emit }: Pick<Work, 'emit'>,
): Promise<PlannedSettings> {
  const { args, open, here, copied, ...mounts } = await readSettings(inputs, program, { emit });
  const moved = await onOtherPorts(inputs, open, here, { emit });
  await applyRules(RULES, open, here, emit);
  const settings = open.result();
  const secret = [...args, ...settings.args].filter(({ value, shown }) => value !== shown);
  const hidden = new Map(secret.map(({ value, shown }) => [value, shown]));
  return { settings, hidden, moved, ...mounts, copied, needed: localCopies(copied, settings.files) };
}

/** Moves each webhook port on which the controller cannot listen here, if a setting for that port is known. */
async function onOtherPorts(
  { target, elsewhere }: ControllerInputs,
  settings: OpenSettings,
  here: Here,
  { emit }: Pick<Work, 'emit'>,
): Promise<Map<number, number>> {
  const moved = new Map<number, number>();
  for (const from of targetPorts(target.services)) {
    const other = await elsewhere?.(from);
    if (other === undefined) continue;
    const changes = await applyRules([webhookPort({ from, ...other })], settings, here, emit);
    if (changes.length > 0) moved.set(from, other.port);
  }
  return moved;
}

/**
 * What a program in a Pod connects with. Libraries of other languages take a token for the sign that they run in a Pod, and then call an
 * address that only Pods know, so their programs get it only if their sources connect in no other way.
 */
function podConnection(
  { proxy, facts }: ControllerInputs,
  { linked }: PlannedProgram,
): ControllerInputs['proxy'] {
  return linked !== undefined || facts.connectsFromPod ? proxy : undefined;
}

/**
 * Places the files of a ServiceAccount, in which libraries that elect a leader, and many programs, find their namespace. Only programs that
 * devloop builds get them: the user's command may need rights that it would lose in a user namespace.
 */
function podFiles(
  { target: { manager, namespace }, files: { directory }, proxy }: ControllerInputs,
  mounts: Placed[],
): { placed: ControllerPlan['placed']; needed: NeededFiles[] } | undefined {
  if (manager === undefined || !isPlaceable(NAMESPACE_FILE)) return undefined;
  const from = proxy ? accessPodFiles(proxy) : join(directory, 'pod');
  const [to, name] = [dirname(NAMESPACE_FILE), basename(NAMESPACE_FILE)];
  // If devloop itself runs in a Pod, the token there is the user's own, so it must not be hidden.
  const isShared = proxy === undefined && existsSync(to);
  const place = isShared ? { from: join(from, name), to: NAMESPACE_FILE } : { from, to };
  return {
    placed: { files: [place, ...mounts], scratch: join(directory, 'under') },
    needed: proxy ? [] : [{ directory: from, files: { [name]: namespace } }],
  };
}

function planEnvironment(
  { target, facts, settings, env, files, proxy }: ControllerInputs,
  cluster: {
    variables: Record<string, string>;
    /** What the program needs on this machine. */
    program: Pick<PlannedProgram, 'ownVariables'>;
    paths: MountedPath[];
    kubeconfig: string[] | undefined;
    connection: Record<string, string> | undefined;
  },
  emit: Emit,
): Record<string, string> {
  const { variables, program, paths, kubeconfig, connection } = cluster;
  const environment = controllerEnvironment({
    inherited: { ...env, ...program.ownVariables },
    deployment: variables,
    named: settings.env ?? {},
    temporary: join(files.directory, 'tmp'),
    paths,
    connection: { ...connection, ...reportingTo(proxy) },
    namespace: facts.paths.has(NAMESPACE_FILE) ? target.namespace : undefined,
    ...(kubeconfig === undefined ? {} : { kubeconfig: kubeconfig.join(delimiter) }),
  });
  for (const [variable, value] of Object.entries(environment.noWebhooks))
    emit(notice('variable.no-webhooks', { variable, value }));
  return environment.env;
}

import { existsSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import type { ClusterApi } from '../cluster/api/client.ts';
import type { Work } from '../cluster/work.ts';
import type { Config } from '../config/schema.ts';
import type { BegunBuild } from '../controller/begun-build.ts';
import type { DebugBuild } from '../controller/go/build-command.ts';
import { flagOf } from '../controller/refused-flags.ts';
import type { ControllerPlan } from '../controller/supervisor.ts';
import { canPlace, type Placed } from '../machine/mount-namespace.ts';
import { isPlaceable } from '../machine/places.ts';
import { readFlags } from '../operator/cobra-commands.ts';
import { type ExpandedArgument, expandArguments } from '../operator/environment.ts';
import type { CheckoutFacts } from '../operator/sources.ts';
import { type Target, targetPorts } from '../operator/target.ts';
import { mountPointsIn } from '../operator/volumes.ts';
import type { Emit } from '../report/events.ts';
import { noteClusterHosts } from './cluster-hosts.ts';
import { isGivenIn, planAddressFlags, planMountFlags } from './default-flags.ts';
import { controllerEnvironment, NAMESPACE_FILE } from './environment.ts';
import { withFlags } from './flag-place.ts';
import { placeImageFiles } from './image-files.ts';
import type { LocalFiles } from './key-pair-files.ts';
import { localCopies, mountedTexts } from './local-copies.ts';
import type { MountedPath, NeededFiles } from './mounts.ts';
import { containerArguments, inWorkingDirectory, planArguments, requirePassable } from './plan-arguments.ts';
import { planKeyPairs } from './plan-key-pairs.ts';
import { planKubeconfig, readsOneFile } from './plan-kubeconfig.ts';
import { otherMounts, type PlannedMounts, planMounts } from './plan-mounts.ts';
import type { PodConnection } from './pod-connection.ts';
import { ARGUMENTS, type PlannedProgram, planProgram } from './program.ts';
import { type ManagerVariables, managerVariables } from './variables.ts';
import { moveWebhookPort, type OtherPort, type StartSettings } from './webhook-port.ts';

const GRACE_SECONDS = 10;
const CONTROLLER_READY_SECONDS = 120;

/** What the plan of a controller is made from. */
export interface ControllerInputs {
  api: ClusterApi;
  target: Target;
  checkout: { root: string; facts: CheckoutFacts };
  settings: NonNullable<Config['controller']>;
  /** The arguments of the controller that is already running, which itself uses the ports that they name. */
  running?: string[] | undefined;
  /** Finds the port that replaces a port of the Pod on which the controller cannot listen; absent if it can listen on all of them. */
  elsewhere?: ((port: number) => Promise<OtherPort | undefined>) | undefined;
  /** The command that the user gave after `--`. */
  command?: string[] | undefined;
  /** The user's GOFLAGS, if they are being read already. */
  goFlags?: Promise<string> | undefined;
  /** The build of the last session, which has already been started again. */
  begun?: Pick<BegunBuild, 'packagesOf'> | undefined;
  /** Present if the controller runs under a debugger. */
  forDebugger?: DebugBuild | undefined;
  /** Whether the controller is built and run next; false in a dry run. */
  isBuilt?: boolean | undefined;
  /** The main package that the user gave with `--package`. */
  goPackage?: string | undefined;
  /** The main package that a saved set names. */
  recordedPackage?: string | undefined;
  /** The name that the controller receives as its Pod's. */
  podName: string;
  /** The name of the Pod that stands in for the manager's own Pods, if these end. */
  standIn?: string | undefined;
  /** The uid that the controller receives as its Pod's: a placeholder until the controller starts, if a Pod stands in for the manager's. */
  podUid?: string | undefined;
  /** Whether the kubeconfig is a single file of devloop's own. */
  hasOwnKubeconfig?: boolean | undefined;
  /** The connection of a program that connects to the cluster as in a Pod. */
  connection?: Pick<PodConnection, 'variables' | 'files'> | undefined;
  /** devloop's own environment. */
  env: Record<string, string | undefined>;
  files: LocalFiles;
  /** The directories in which the manager's container sees the key pairs. */
  keyPairMounts: string[];
  stateFile: string;
  keptProgram: string;
}

export interface PlannedController {
  plan: ControllerPlan;
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
  const { root, facts } = inputs.checkout;
  const { directory } = inputs.files;
  const program = await planProgram({ ...inputs, ...facts, root, directory }, { emit, signal });
  const mayPlace = program.linked !== undefined && (await canPlace());
  const planned = await planSettings(inputs, { ...program, mayPlace }, { emit });
  const { settings: own, moved, paths, words, placed, needed } = planned;
  const { args, hidden } = await planArguments(
    own.args,
    { ...program, paths, running: inputs.running ?? [], commands: facts.commandNames },
    emit,
  );
  const readHere = readFlags(program.kubeconfigFlags, args, facts.commandNames);
  const kubeconfig = planKubeconfig(inputs, readsOneFile(inputs.checkout, program.linked && readHere));
  const more = readHere.length > 0 ? kubeconfigFlag(kubeconfig?.paths, emit) : [];
  const keyPairs = await planKeyPairs({ ...inputs, facts }, { ...program, mayPlace, words }, { emit });
  const mounted = inputs.target.manager === undefined ? [] : mountPointsIn(inputs.target.manager);
  const ofImage = placeImageFiles(
    { ...program, root, paths: facts.paths, words, mounted: mounted.map(({ path }) => path), mayPlace },
    emit,
  );
  const pod = mayPlace ? podFiles(inputs, [...placed, ...keyPairs.placed, ...ofImage]) : undefined;
  const all = withFlags(args, [...keyPairs.args, ...more], facts.commandNames);
  const [port] = targetPorts(inputs.target.services);
  const plan: ControllerPlan = {
    cwd: program.cwd,
    build: program.build,
    withoutChosen: program.withoutChosen,
    run: program.run.flatMap((word) => (word === ARGUMENTS ? all : [word])),
    runAs: program.runAs,
    added: addedTo(inputs.target, program, all),
    hidden,
    env: planEnvironment(
      inputs,
      { ...own, paths, kubeconfig: kubeconfig?.paths, connection: pod && inputs.connection?.variables },
      emit,
    ),
    webhook: port === undefined ? undefined : { host: '127.0.0.1', port: moved.get(port) ?? port },
    watch: program.watch,
    package: program.package,
    rivals: program.rivals,
    asksForRestart: program.asksForRestart,
    placed: pod?.placed,
    graceMs: (inputs.settings.graceSeconds ?? GRACE_SECONDS) * 1000,
    readyMs: (inputs.settings.readySeconds ?? CONTROLLER_READY_SECONDS) * 1000,
    stateFile: inputs.stateFile,
    keptProgram: inputs.keptProgram,
  };
  return {
    plan,
    moved,
    hardCoded: keyPairs.hardCoded,
    needed: [...needed, ...(kubeconfig?.needed ?? []), ...(pod?.needed ?? [])],
  };
}

function kubeconfigFlag([file]: string[] = [], emit: Emit): string[] {
  if (file === undefined) return [];
  const flag = `--kubeconfig=${file}`;
  const message = `${flag}\nis added: the program may read its kubeconfig only from this flag.`;
  emit({ type: 'note', message });
  return [flag];
}

/** The arguments with flags that the manager's own arguments do not set. */
function addedTo(target: Target, { run, image }: PlannedProgram, all: string[]): string[] {
  if (!run.includes(ARGUMENTS)) return [];
  const isGiven = isGivenIn(containerArguments(target, image, () => {}));
  return all.filter((word) => flagOf(word) !== '' && !isGiven(flagOf(word)));
}

interface PlannedSettings extends Pick<PlannedMounts, 'paths' | 'words' | 'placed'> {
  settings: StartSettings;
  moved: Map<number, number>;
  /** The copies of the mounted files. */
  needed: NeededFiles[];
}

/** The manager's arguments, variables and mounted files, with ports on which the controller can listen. */
async function planSettings(
  inputs: ControllerInputs,
  program: PlannedProgram & { mayPlace: boolean },
  { emit }: Pick<Work, 'emit'>,
): Promise<PlannedSettings> {
  const { facts } = inputs.checkout;
  const { root } = inputs.checkout;
  const environment = await managerVariables({ ...inputs, ...facts, ...program, root }, emit);
  // The user's command has its own arguments, unless it contains `{args}`.
  const takesArguments = program.run.includes(ARGUMENTS);
  const args = takesArguments ? await managerArguments(inputs, { program, environment }, { emit }) : [];
  const values = args.map(({ value }) => value);
  noteClusterHosts({ args: values, variables: environment.passable }, inputs.target, emit);
  const ofUser = Object.values(inputs.settings.env ?? {});
  const passed = [...values, ...Object.values(environment.passable), ...ofUser];
  const { copied, ...mounts } = await planMounts({ ...inputs, ...program }, passed, emit);
  const start = { args, variables: environment.passable, files: mountedTexts(copied) };
  const known = { ...facts, ...program, ...environment };
  const { settings, moved } = await onOtherPorts(inputs, start, known, { emit });
  const needed = await localCopies({ ...program, ...mounts, copied, texts: settings.files }, emit);
  return { settings, moved, ...mounts, needed };
}

/** Moves each webhook port on which the controller cannot listen here, if a setting for that port is known. */
async function onOtherPorts(
  { target, elsewhere }: ControllerInputs,
  start: StartSettings,
  known: Parameters<typeof moveWebhookPort>[2],
  { emit }: Pick<Work, 'emit'>,
): Promise<{ settings: StartSettings; moved: Map<number, number> }> {
  let settings = start;
  const moved = new Map<number, number>();
  for (const from of targetPorts(target.services)) {
    const other = await elsewhere?.(from);
    const changed = other && (await moveWebhookPort(settings, { from, ...other }, known, { emit }));
    if (changed === undefined) continue;
    settings = changed;
    moved.set(from, other!.port);
  }
  return { settings, moved };
}

/**
 * Places the files of a ServiceAccount, in which libraries that elect a leader, and many programs, find their namespace. Only programs that
 * devloop builds get them: the user's command may need rights that it would lose in a user namespace.
 */
function podFiles(
  { target: { manager, namespace }, files: { directory }, connection }: ControllerInputs,
  mounts: Placed[],
): { placed: ControllerPlan['placed']; needed: NeededFiles[] } | undefined {
  if (manager === undefined || !isPlaceable(NAMESPACE_FILE)) return undefined;
  const from = join(directory, 'pod');
  const [to, name] = [dirname(NAMESPACE_FILE), basename(NAMESPACE_FILE)];
  // If devloop itself runs in a Pod, the token there is the user's own, so it must not be hidden.
  const isShared = connection === undefined && existsSync(to);
  const place = isShared ? { from: join(from, name), to: NAMESPACE_FILE } : { from, to };
  return {
    placed: { files: [place, ...mounts], scratch: join(directory, 'under') },
    needed: [{ directory: from, files: { [name]: namespace, ...connection?.files } }],
  };
}

/** The container's arguments, and flags whose defaults work only in the Pod. */
async function managerArguments(
  { target, checkout, keyPairMounts, running }: ControllerInputs,
  { program, environment }: { program: PlannedProgram; environment: ManagerVariables },
  { emit }: Pick<Work, 'emit'>,
): Promise<ExpandedArgument[]> {
  const given = containerArguments(target, program.image, emit);
  const own = inWorkingDirectory(expandArguments(given, environment), target);
  requirePassable(given, own);
  const { manager } = target;
  if (manager === undefined) return own;
  const words = [...own.map(({ value }) => value), ...Object.values(environment.passable)];
  const mounts = otherMounts(manager, keyPairMounts);
  const defaults = { ...checkout.facts, ...program, words };
  const mounted = await planMountFlags({ ...defaults, mounts }, { emit });
  const addresses = await planAddressFlags({ ...defaults, given: own.map(({ value }) => value), running });
  return withFlags(own, [...mounted, ...addresses], checkout.facts.commandNames);
}

function planEnvironment(
  { target, checkout, settings, env, files }: ControllerInputs,
  cluster: {
    variables: Record<string, string>;
    paths: MountedPath[];
    kubeconfig: string[] | undefined;
    connection: Record<string, string> | undefined;
  },
  emit: Emit,
): Record<string, string> {
  const { variables, paths, kubeconfig, connection } = cluster;
  const environment = controllerEnvironment({
    inherited: env,
    deployment: variables,
    named: settings.env ?? {},
    temporary: join(files.directory, 'tmp'),
    paths,
    connection,
    namespace: checkout.facts.paths.has(NAMESPACE_FILE) ? target.namespace : undefined,
    ...(kubeconfig === undefined ? {} : { kubeconfig: kubeconfig.join(delimiter) }),
  });
  for (const message of environment.warnings) emit({ type: 'warning', message });
  return environment.env;
}

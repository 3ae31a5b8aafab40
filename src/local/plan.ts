import { basename, delimiter, join } from 'node:path';
import type { ClusterApi } from '../cluster/api/client.ts';
import type { Work } from '../cluster/work.ts';
import type { Config } from '../config/schema.ts';
import type { ControllerPlan } from '../controller/supervisor.ts';
import { DevloopError } from '../errors.ts';
import { isPortBusy } from '../machine/port.ts';
import {
  type ExpandedArgument,
  expandArguments,
  type PodEnvironment,
  readPodEnvironment,
} from '../operator/environment.ts';
import type { Target } from '../operator/target.ts';
import type { Emit } from '../report/events.ts';
import { localArguments } from './arguments.ts';
import { controllerEnvironment, NAMESPACE_FILE } from './environment.ts';
import { hardCodedDirectories, type LocalFiles } from './key-pair-files.ts';
import { type MountedPath, type NeededFiles, planMounts, rewritePaths } from './mounts.ts';
import { ARGUMENTS, planProgram } from './program.ts';

const GRACE_MS = 10_000;
const CONTROLLER_READY_SECONDS = 120;

/** What the plan of a controller is made from. */
export interface ControllerInputs {
  api: ClusterApi;
  target: Target;
  checkout: {
    root: string;
    /** Everything in the sources that looks like an absolute path. */
    sourcePaths: ReadonlySet<string>;
  };
  settings: NonNullable<Config['controller']>;
  /** The arguments of the controller that runs already: their ports are in use because of it. */
  running?: string[] | undefined;
  /** The command that the user gave after `--`. */
  command?: string[] | undefined;
  /** The main package that the user gave with `--package`. */
  goPackage?: string | undefined;
  /** The context and the kubeconfig that the user chose; absent where they are kubectl's own. */
  chosen: { context?: string | undefined; kubeconfig?: string | undefined };
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
  /** Directories outside the session's own in which the sources look for the key pair. */
  hardCoded: string[];
  /** What has to be written before the controller starts. */
  needed: NeededFiles[];
}

/** Plans to build and run the controller as much as possible as the manager runs in the cluster. Writes nothing. */
export async function planController(
  inputs: ControllerInputs,
  { emit, signal }: Pick<Work, 'emit' | 'signal'>,
): Promise<PlannedController> {
  const { api, target, checkout, settings } = inputs;
  const { root } = checkout;
  const { directory } = inputs.files;
  const [program, environment] = await Promise.all([
    planProgram({ ...inputs, root, directory }, { emit, signal }),
    managerVariables(api, target, emit),
  ]);
  const variables = passable(environment.values, emit);
  // A command of the user's has its own, unless it asks for the manager's.
  const given = program.run.includes(ARGUMENTS) ? containerArguments(target) : [];
  const own = expandArguments(given, environment);
  requirePassable(given, own);
  const words = [...own.map(({ value }) => value), ...Object.values(variables)];
  const { paths, needed } = await planMounts(inputs, words, emit);
  const { args, hidden } = await planArguments(own, { paths, running: inputs.running ?? [] }, emit);
  const kubeconfig = planKubeconfig(inputs);
  const port = target.services[0]?.ports[0]?.targetPort;
  const plan: ControllerPlan = {
    cwd: program.cwd,
    build: program.build,
    run: program.run.flatMap((word) => (word === ARGUMENTS ? args : [word])),
    hidden,
    env: planEnvironment(inputs, { variables, paths, kubeconfig: kubeconfig?.paths }, emit),
    webhook: port === undefined ? undefined : { host: '127.0.0.1', port },
    watch: program.watch,
    graceMs: GRACE_MS,
    readyMs: (settings.readySeconds ?? CONTROLLER_READY_SECONDS) * 1000,
    stateFile: inputs.stateFile,
    keptProgram: inputs.keptProgram,
  };
  const hardCoded = hardCodedDirectories(inputs.keyPairMounts, words, checkout.sourcePaths);
  return { plan, hardCoded, needed: [...needed, ...(kubeconfig?.needed ?? [])] };
}

async function managerVariables(api: ClusterApi, { manager }: Target, emit: Emit): Promise<PodEnvironment> {
  if (manager === undefined) return { values: {}, secrets: new Set(), unknown: [] };
  const environment = await readPodEnvironment(api, manager);
  for (const { name, why } of environment.unknown)
    emit({ type: 'warning', message: `The controller runs without its variable ${name}: ${why}.` });
  return environment;
}

/** The kernel ends every variable and argument at a NUL byte, and Node refuses them with an error that quotes the value. */
function passable(variables: Record<string, string>, emit: Emit): Record<string, string> {
  const [good, bad] = [false, true].map((isBad) =>
    Object.entries(variables).filter(([, value]) => value.includes('\0') === isBad),
  );
  for (const [name] of bad!) {
    const message = `The controller runs without its variable ${name}: its value contains a NUL byte, which no variable can.`;
    emit({ type: 'warning', message });
  }
  return Object.fromEntries(good!);
}

/** Names arguments as they are written in the manager's container, since a value may be a Secret's. */
function requirePassable(given: string[], expanded: ExpandedArgument[]): void {
  const at = expanded.findIndex(({ value }) => value.includes('\0'));
  if (at < 0) return;
  const message = `The manager's argument ${given[at]!.replaceAll('\0', '\\0')} contains a NUL byte, so no program can be started with it.`;
  const hint =
    'Correct the argument or the Secret in the cluster, or give your own command: devloop up -- COMMAND';
  throw new DevloopError('controller.argument', message, { hint });
}

/** The container's words after its program: a subcommand in `command` counts as well. */
function containerArguments(target: Target): string[] {
  const { command = [], args = [] } = target.manager?.container ?? {};
  const isShell = ['sh', 'bash', 'ash'].includes(basename(command[0] ?? ''));
  return isShell ? [] : [...command.slice(1), ...args];
}

async function planArguments(
  own: ExpandedArgument[],
  { paths, running }: { paths: MountedPath[]; running: string[] },
  emit: Emit,
): Promise<{ args: string[]; hidden: Map<string, string> }> {
  const values = own.map(({ value }) => value);
  const secret = own.filter(({ value, shown }) => value !== shown);
  const hidden = new Map(
    secret.flatMap(({ value, shown }) => [
      [value, shown],
      [rewritePaths(value, paths), rewritePaths(shown, paths)],
    ]),
  );
  const show = (argument: string): string => hidden.get(argument) ?? argument;
  const ports = portsIn(values).filter((port) => !portsIn(running).includes(port));
  const { args, changes } = localArguments(values, { paths, busyPorts: await busyAmong(ports) });
  for (const { argument, became, because } of changes) {
    const [before, after] = [argument, became].map((words) => words.map(show).join(' '));
    const outcome = after === '' ? 'is left out' : `becomes ${after}`;
    emit({ type: 'note', message: `${before}\n${outcome}: ${because}` });
  }
  return { args, hidden };
}

function portsIn(args: string[]): number[] {
  const numbers = args.flatMap((argument) => [...argument.matchAll(/:(\d{2,5})\b/g)].map(([, port]) => port));
  return [...new Set(numbers.map(Number))];
}

async function busyAmong(ports: number[]): Promise<number[]> {
  const busy = await Promise.all(ports.map((port) => isPortBusy(port)));
  return ports.filter((_, index) => busy[index]);
}

function planEnvironment(
  { target, checkout, settings, env, files }: ControllerInputs,
  cluster: {
    variables: Record<string, string>;
    paths: MountedPath[];
    kubeconfig: string[] | undefined;
  },
  emit: Emit,
): Record<string, string> {
  const { variables, paths, kubeconfig } = cluster;
  const environment = controllerEnvironment({
    inherited: env,
    deployment: variables,
    named: settings.env ?? {},
    temporary: join(files.directory, 'tmp'),
    paths,
    namespace: checkout.sourcePaths.has(NAMESPACE_FILE) ? target.namespace : undefined,
    ...(kubeconfig === undefined ? {} : { kubeconfig: kubeconfig.join(delimiter) }),
  });
  for (const message of environment.warnings) emit({ type: 'warning', message });
  if (environment.dropped.length > 0) emit({ type: 'note', message: notTakenOver(environment.dropped) });
  return environment.env;
}

function notTakenOver(names: string[]): string {
  const all = names.join(', ');
  return `The controller runs without ${all} of the Deployment:\nsuch variables can run other programs on this machine. To set one: controller: {env: {${names[0]}: …}} in devloop.yaml.`;
}

/** A chosen context reaches the controller through a tiny kubeconfig in front of the user's, so that no secret is copied. */
function planKubeconfig({
  api,
  chosen,
  files: { directory },
}: ControllerInputs): { paths: string[]; needed: NeededFiles[] } | undefined {
  const own = api.kubeconfigFiles;
  if (chosen.context === undefined)
    return chosen.kubeconfig === undefined ? undefined : { paths: own, needed: [] };
  const content = JSON.stringify({ apiVersion: 'v1', kind: 'Config', 'current-context': api.context });
  return {
    paths: [join(directory, 'kubeconfig'), ...own],
    needed: [{ directory, files: { kubeconfig: content } }],
  };
}

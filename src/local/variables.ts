import type { Checkout } from '../checkout/files.ts';
import type { ImageFile, Language, LinkedPackages } from '../checkout/language.ts';
import { isAtOrBelow } from '../checkout/paths.ts';
import type { ClusterApi } from '../cluster/api/client.ts';
import { type PodEnvironment, readPodEnvironment } from '../operator/environment.ts';
import type { Target } from '../operator/target.ts';
import { mountPointsIn } from '../operator/volumes.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { applyRules, busyPortsIn } from './apply-rules.ts';
import { isOfTheMachine } from './machine-variables.ts';
import { RULES } from './rules.ts';
import { openSettings, type StartSettings } from './settings.ts';
import { MOST_VARIABLES, takenVariables } from './taken-variables.ts';

export interface VariableInputs {
  api: ClusterApi;
  target: Target;
  /** The name that the controller receives as its Pod's. */
  podName: string;
  /** The uid that the controller receives as its Pod's: a placeholder if a Pod stands in for the manager's. */
  podUid?: string | undefined;
  /** Variables that the sources read for the leader election switch. */
  electionVariables: ReadonlySet<string>;
  /** Whether leader election stays on. */
  isElectable?: boolean;
  /** The variables that the manager's image sets, and the checkout's files that it contains. */
  imageVariables: Record<string, string>;
  imageFiles: ImageFile[];
  /** devloop's own environment. */
  env: Record<string, string | undefined>;
  checkout: Checkout;
  /** The command that starts the program. */
  run: string[];
  /** The language of a program that devloop found; absent for the user's own command. */
  language: Language | undefined;
  /** The program's packages, if its language tells. */
  linked?: LinkedPackages | undefined;
  keptProgram: string;
  /** The variables that devloop.yaml sets. */
  settings: { env?: Record<string, string> };
  /** The settings of the controller that is already running, which itself uses the ports that they name. */
  running?: StartSettings | undefined;
}

export interface ManagerVariables extends PodEnvironment {
  /** The variables that can be passed to a process, including those of the image. */
  passable: Record<string, string>;
}

/** The variables of the manager's container, changed only where they cannot work on this machine. */
export async function managerVariables(inputs: VariableInputs, emit: Emit): Promise<ManagerVariables> {
  const { manager } = inputs.target;
  if (manager === undefined) return { values: {}, secrets: new Set(), unknown: [], nodes: [], passable: {} };
  const environment = await readPodEnvironment(inputs.api, manager, inputs);
  for (const { name, why } of environment.unknown)
    emit(notice('variable.unknown', { variable: name, cause: why }));
  for (const name of environment.nodes)
    emit(notice('variable.node', { variable: name, node: environment.values[name]! }));
  const taken = await takenVariables(environment.values, inputs);
  noteLeftOut(environment.values, taken, inputs, emit);
  const ofImage = takenFromImage(inputs, environment.values, emit);
  const all = { ...ofImage, ...environment.values };
  const values = await localVariables(all, { ...inputs, secrets: environment.secrets }, emit);
  const own = Object.entries(values).filter(([name]) => name in ofImage || taken.has(name));
  // The kubelet does not expand references to variables of the image.
  const expandable = Object.entries(values).filter(([name]) => name in environment.values);
  return { ...environment, values: Object.fromEntries(expandable), passable: passable(own, emit) };
}

/** Arguments refer to variables, so these are made local first. Paths come later, when it is known which files are copied. */
async function localVariables(
  variables: Record<string, string>,
  {
    isElectable = false,
    electionVariables,
    secrets,
    running,
  }: VariableInputs & Pick<PodEnvironment, 'secrets'>,
  emit: Emit,
): Promise<Record<string, string>> {
  const start = { args: [], variables, files: new Map<string, string>() };
  const settings = openSettings(start, { secrets, commandNames: new Set() });
  const busyPorts = await busyPortsIn(settings.read(), running);
  await applyRules(RULES, settings, { paths: [], busyPorts, isElectable, electionVariables }, emit);
  return settings.result().variables;
}

/** The settings that the image makes, except those that the Deployment or the user's shell overrides. */
function takenFromImage(
  { target, imageVariables, imageFiles, env }: VariableInputs,
  own: Record<string, string>,
  emit: Emit,
): Record<string, string> {
  const mounted = target.manager === undefined ? [] : mountPointsIn(target.manager).map(({ path }) => path);
  const found = Object.entries(settingsOfImage({ imageVariables, imageFiles, mounted }));
  const taken = found.filter(([name]) => !(name in own) && env[name] === undefined);
  if (taken.length > 0) emit(notice('variables.of-image', { variables: taken.map(([name]) => name) }));
  return Object.fromEntries(taken);
}

/**
 * Leaves out variables that contain a NUL byte: the kernel ends every variable there, and Node refuses them with an error that quotes the
 * value.
 */
function passable(variables: [string, string][], emit: Emit): Record<string, string> {
  const [good, bad] = [false, true].map((isBad) =>
    variables.filter(([, value]) => value.includes('\0') === isBad),
  );
  for (const [name] of bad!) emit(notice('variable.nul-byte', { variable: name }));
  return Object.fromEntries(good!);
}

/** Variables that each container has, and that the controller has from this machine. */
const OF_EACH_CONTAINER = new Set([
  'PATH',
  'HOME',
  'PWD',
  'KUBECONFIG',
  'KUBERNETES_SERVICE_HOST',
  'KUBERNETES_SERVICE_PORT',
]);

function noteLeftOut(
  values: Record<string, string>,
  taken: ReadonlySet<string>,
  { settings: { env = {} } }: VariableInputs,
  emit: Emit,
): void {
  const names = Object.keys(values).filter(
    (name) => !taken.has(name) && !(name in env) && !OF_EACH_CONTAINER.has(name),
  );
  if (names.length === 0) return;
  const isCut = Object.keys(values).length > MOST_VARIABLES;
  emit(notice('variables.left-out', { variables: names, ...(isCut && { most: MOST_VARIABLES }) }));
}

interface ImageSettings {
  /** The variables that the image sets. */
  imageVariables: Record<string, string>;
  /** The files of the checkout in the image. */
  imageFiles: ImageFile[];
  /** The mount points of the container. */
  mounted: string[];
}

/** Matches an absolute path, but not the path of a URL. */
const PATHS = /(?<![^\s:=,;])\/[\w.-][^\s:,;]*/g;

/**
 * The variables of an image that are settings of its program. A variable with a path that only the image has describes the image, so it is
 * left out.
 */
export function settingsOfImage({
  imageVariables,
  imageFiles,
  mounted,
}: ImageSettings): Record<string, string> {
  const places = [...imageFiles.map(({ to }) => to), ...mounted];
  const isHere = (path: string): boolean => places.some((place) => isAtOrBelow(path, place));
  const settings = Object.entries(imageVariables).filter(
    ([name, value]) => !isOfTheMachine(name) && (value.match(PATHS) ?? []).every(isHere),
  );
  return Object.fromEntries(settings);
}

import type { ClusterApi } from '../cluster/api/client.ts';
import type { ImageFile } from '../controller/go/image-files.ts';
import type { LinkedPackages } from '../controller/go/linked-packages.ts';
import { type PodEnvironment, readPodEnvironment } from '../operator/environment.ts';
import { isAtOrBelow } from '../operator/path-flags.ts';
import type { Target } from '../operator/target.ts';
import { mountPointsIn } from '../operator/volumes.ts';
import type { Emit } from '../report/events.ts';
import { variablesOnFreePorts } from './busy-ports.ts';
import { ELECTION_OFF, variablesWithoutElection } from './leader-election.ts';
import { isOfTheMachine } from './machine-variables.ts';
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
  root: string;
  /** The command that starts the program. */
  run: string[];
  /** The program's packages; absent for the user's own command. */
  linked?: LinkedPackages | undefined;
  keptProgram: string;
  /** The variables that devloop.yaml sets. */
  settings: { env?: Record<string, string> };
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
    emit({ type: 'warning', message: `The controller runs without its variable ${name}: ${why}.` });
  for (const name of environment.nodes) {
    const message = `${name}=${environment.values[name]}\nis an arbitrary node of the cluster: the controller does not run on a node.`;
    emit({ type: 'note', message });
  }
  const taken = await takenVariables(environment.values, inputs);
  noteLeftOut(environment.values, taken, inputs, emit);
  const ofImage = takenFromImage(inputs, environment.values, emit);
  const values = { ...ofImage, ...environment.values };
  const switches = inputs.isElectable ? [] : variablesWithoutElection(values, inputs.electionVariables);
  for (const { name, before, after } of switches) {
    emit({ type: 'note', message: `${name}=${before}\nbecomes ${name}=${after}: ${ELECTION_OFF}` });
    values[name] = after;
  }
  for (const { name, before, after, port } of await variablesOnFreePorts(values)) {
    const [was, is] = environment.secrets.has(name) ? ['', ''] : [`=${before}`, `=${after}`];
    emit({
      type: 'note',
      message: `${name}${was}\nbecomes ${name}${is}: port ${port} is in use on this machine`,
    });
    values[name] = after;
  }
  const own = Object.entries(values).filter(([name]) => name in ofImage || taken.has(name));
  // The kubelet does not expand references to variables of the image.
  const expandable = Object.entries(values).filter(([name]) => name in environment.values);
  return { ...environment, values: Object.fromEntries(expandable), passable: passable(own, emit) };
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
  if (taken.length > 0) {
    const message = `${taken.map(([name]) => name).join(', ')}\nset by the Dockerfile: the controller gets what its image sets.`;
    emit({ type: 'note', message });
  }
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
  for (const [name] of bad!) {
    const message = `The controller runs without its variable ${name}: its value contains a NUL byte, which no variable can contain.`;
    emit({ type: 'warning', message });
  }
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
  const why =
    'its sources do not name them, or this machine or a library could take them for something to load or run';
  const limit =
    Object.keys(values).length > MOST_VARIABLES
      ? ` devloop looks only for the first ${MOST_VARIABLES} variables.`
      : '';
  const message = `The controller runs without ${names.join(', ')} from the Deployment:\n${why}.${limit} To set them: controller: {env: {${names.map((name) => `${name}: …`).join(', ')}}} in devloop.yaml.`;
  emit({ type: 'note', message });
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

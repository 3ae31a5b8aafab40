import type { ClusterApi } from '../cluster/api/client.ts';
import { noneIfForbidden } from '../cluster/api/errors.ts';
import type { ConfigMap, Secret } from '../cluster/api/objects.ts';
import type { Container, EnvVar } from '../cluster/api/workloads.ts';
import { downwardValue, entryOf, type OwnPod } from './downward.ts';
import type { TargetManager } from './target.ts';

export interface PodEnvironment {
  values: Record<string, string>;
  /** The names of the variables whose values come from Secrets, or contain a value that does. */
  secrets: Set<string>;
  /** Variables whose values cannot be read from the API, and why. */
  unknown: { name: string; why: string }[];
  /** The names of the variables that name the Pod's node in the cluster. Here they name an arbitrary node. */
  nodes: string[];
}

/** The environment that the kubelet gives the manager's container, except for what cannot be read from the API. */
export async function readPodEnvironment(
  api: ClusterApi,
  manager: TargetManager,
  own: Pick<OwnPod, 'podName' | 'podUid'>,
): Promise<PodEnvironment> {
  const { object, container } = manager;
  const namespace = object.metadata.namespace ?? 'default';
  const read = cachedReader(api, namespace);
  const result: PodEnvironment = { values: {}, secrets: new Set(), unknown: [], nodes: [] };
  for (const source of container.envFrom ?? []) await addAll(source, read, result);
  for (const variable of container.env ?? []) {
    const value = await readValue(api, variable, { ...own, manager, namespace }, read);
    // As in the kubelet, a value from a Secret or ConfigMap is not expanded.
    const isLiteral = variable.valueFrom === undefined;
    if (value !== undefined) {
      const isSecret = isLiteral
        ? refersToAny(value, result.secrets)
        : variable.valueFrom?.secretKeyRef !== undefined;
      define(result, variable.name, isLiteral ? expand(value, result.values) : value, isSecret);
    } else if (!isOptional(variable)) result.unknown.push({ name: variable.name, why: sourceName(variable) });
  }
  result.nodes = nodesIn(container, result.values);
  return result;
}

function nodesIn({ env = [] }: Container, values: Record<string, string>): string[] {
  return env.filter((one) => isNode(one) && one.name in values).map(({ name }) => name);
}

function isNode({ valueFrom }: EnvVar): boolean {
  return valueFrom?.fieldRef?.fieldPath === 'spec.nodeName';
}

/** The name of some node. It stays the same when the controller restarts, because the API server lists nodes by name. */
async function someNode(api: ClusterApi): Promise<string | undefined> {
  const nodes = await api.list('Node', undefined, { query: { limit: '1' } }).catch(noneIfForbidden);
  return nodes.map(({ metadata }) => metadata.name).sort()[0];
}

async function addAll(
  { prefix = '', configMapRef, secretRef }: NonNullable<Container['envFrom']>[number],
  read: Reader,
  result: PodEnvironment,
): Promise<void> {
  const kind = configMapRef ? 'ConfigMap' : 'Secret';
  const reference = configMapRef ?? secretRef;
  if (reference === undefined) return;
  const data = await read(kind, reference.name);
  if (data === undefined && !reference.optional) {
    result.unknown.push({
      name: `${prefix}*`,
      why: `${kind} ${reference.name} does not exist or cannot be read`,
    });
  }
  for (const [key, value] of Object.entries(data ?? {}))
    define(result, prefix + key, value, kind === 'Secret');
}

/** A later definition replaces an earlier one. */
function define(result: PodEnvironment, name: string, value: string, isSecret: boolean): void {
  result.values[name] = value;
  if (isSecret) result.secrets.add(name);
  else result.secrets.delete(name);
}

type Reader = (kind: 'Secret' | 'ConfigMap', name: string) => Promise<Record<string, string> | undefined>;

/** Returns the contents by key, decoded; undefined when the object is missing or cannot be read. */
function cachedReader(api: ClusterApi, namespace: string): Reader {
  const seen = new Map<string, Promise<Record<string, string> | undefined>>();
  return (kind, name) => {
    const key = `${kind}/${name}`;
    const reading = seen.get(key) ?? readData(api, kind, namespace, name);
    seen.set(key, reading);
    return reading;
  };
}

async function readData(
  api: ClusterApi,
  kind: 'Secret' | 'ConfigMap',
  namespace: string,
  name: string,
): Promise<Record<string, string> | undefined> {
  const object = await api.get<Secret & ConfigMap>({ kind, namespace, name }).catch(() => undefined);
  if (object === undefined) return undefined;
  if (kind === 'ConfigMap') return object.data ?? {};
  return Object.fromEntries(
    Object.entries(object.data ?? {}).map(([key, value]) => [
      key,
      Buffer.from(value, 'base64').toString('utf8'),
    ]),
  );
}

async function readValue(
  api: ClusterApi,
  variable: EnvVar,
  pod: OwnPod,
  read: Reader,
): Promise<string | undefined> {
  if (isNode(variable)) return await someNode(api);
  const from = variable.valueFrom;
  if (from === undefined) return variable.value ?? '';
  if (from.configMapKeyRef)
    return entryOf(await read('ConfigMap', from.configMapKeyRef.name), from.configMapKeyRef.key);
  if (from.secretKeyRef) return entryOf(await read('Secret', from.secretKeyRef.name), from.secretKeyRef.key);
  return downwardValue(from, pod);
}

const REFERENCE = /\$\$|\$\(([A-Za-z_][\w.-]*)\)/g;

/** The longest argument or variable that Linux passes to a program, in bytes. */
const LONGEST = 128 * 1024;

/**
 * Expands `$(NAME)` to a variable that is defined earlier, and `$$` to a dollar sign. A value that would become too long for any program is
 * not expanded: in a chain of variables, each of which uses the previous one twice, the length doubles with every variable.
 */
function expand(value: string, known: Record<string, string>): string {
  let length = value.length;
  const expanded = value.replace(REFERENCE, (match, name: string | undefined) => {
    const found = match === '$$' ? '$' : (entryOf(known, name!) ?? match);
    length += found.length;
    return length > LONGEST ? '' : found;
  });
  return length > LONGEST ? value : expanded;
}

function refersToAny(value: string, names: Set<string>): boolean {
  return [...value.matchAll(REFERENCE)].some(([, name]) => name !== undefined && names.has(name));
}

/** An argument with the values of its variables, and the form that is shown: without values that come from Secrets. */
export interface ExpandedArgument {
  value: string;
  shown: string;
}

/** Expands the variables in arguments. */
export function expandArguments(
  args: string[],
  { values, secrets }: Pick<PodEnvironment, 'values' | 'secrets'>,
): ExpandedArgument[] {
  const open = Object.fromEntries(Object.entries(values).filter(([name]) => !secrets.has(name)));
  return args.map((argument) => ({ value: expand(argument, values), shown: expand(argument, open) }));
}

function isOptional({ valueFrom }: EnvVar): boolean {
  return valueFrom?.configMapKeyRef?.optional === true || valueFrom?.secretKeyRef?.optional === true;
}

function sourceName({ valueFrom }: EnvVar): string {
  if (valueFrom?.configMapKeyRef)
    return `key ${valueFrom.configMapKeyRef.key} of ConfigMap ${valueFrom.configMapKeyRef.name} does not exist or cannot be read`;
  if (valueFrom?.secretKeyRef)
    return `key ${valueFrom.secretKeyRef.key} of Secret ${valueFrom.secretKeyRef.name} does not exist or cannot be read`;
  return `${valueFrom?.fieldRef?.fieldPath ?? valueFrom?.resourceFieldRef?.resource} is only known inside a Pod`;
}

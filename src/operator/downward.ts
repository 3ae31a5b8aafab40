/** The part of the downward API that makes sense for a process outside a Pod. */
import type { Container, FieldRef, ResourceFieldRef, Volume } from '../cluster/api/workloads.ts';
import type { TargetManager } from './target.ts';

/** The Pod that is presented to the controller as its own. */
export interface OwnPod {
  manager: Pick<TargetManager, 'object' | 'container'>;
  namespace: string;
  podName: string;
  /** Absent if it is unknown; always absent for files. */
  podUid?: string;
}

/** The value of a field, or the amount of a resource; undefined if it is known only inside a Pod. */
export function downwardValue(
  { fieldRef, resourceFieldRef }: { fieldRef?: FieldRef; resourceFieldRef?: ResourceFieldRef },
  pod: OwnPod,
): string | undefined {
  if (fieldRef) return fieldValue(fieldRef.fieldPath, pod);
  return resourceFieldRef && resourceValue(resourceFieldRef, pod);
}

/** The entry for a name from the cluster. A property that every object inherits, such as `constructor`, does not count. */
export function entryOf<T>(map: Record<string, T> | undefined, name: string): T | undefined {
  return map !== undefined && Object.hasOwn(map, name) ? map[name] : undefined;
}

function fieldValue(
  path: string,
  { manager: { object }, namespace, podName, podUid }: OwnPod,
): string | undefined {
  const { metadata, spec } = object.spec.template;
  const one = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path);
  if (one) return entryOf(metadata?.[one[1] as 'labels' | 'annotations'], one[2]!) ?? '';
  const all = /^metadata\.(labels|annotations)$/.exec(path);
  if (all) return listed(metadata?.[all[1] as 'labels' | 'annotations'] ?? {});
  switch (path) {
    case 'metadata.namespace':
      return namespace;
    case 'metadata.name':
      return podName;
    case OWN_UID:
      return podUid;
    case 'spec.serviceAccountName':
      return spec.serviceAccountName ?? 'default';
    case 'status.podIP':
    case 'status.podIPs':
    case 'status.hostIP':
    case 'status.hostIPs':
      return '127.0.0.1';
    default:
      return undefined;
  }
}

/** Formats labels or annotations as the kubelet writes them to a file. */
function listed(entries: Record<string, string>): string {
  const sorted = Object.entries(entries).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join('\n');
}

/** The amount of a resource; undefined if the container sets no limit, since the Pod would then get the capacity of its node. */
function resourceValue(
  { containerName, resource, divisor = '1' }: ResourceFieldRef,
  { manager: { object, container } }: OwnPod,
): string | undefined {
  const all: Container[] = object.spec.template.spec.containers;
  const of = containerName === undefined ? container : all.find(({ name }) => name === containerName);
  const [, kind, name = ''] = /^(limits|requests)\.(.+)$/.exec(resource) ?? [];
  const { limits = {}, requests = {} } = of?.resources ?? {};
  const limit = entryOf(limits, name);
  const quantity = kind === 'limits' ? limit : (entryOf(requests, name) ?? limit ?? '0');
  const [amount, unit] = [amountOf(quantity), amountOf(divisor === '0' ? '1' : divisor)];
  return amount === undefined || unit === undefined ? undefined : String(Math.ceil(amount / unit));
}

const SUFFIXES: Record<string, number> = {
  ...{ m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 },
  ...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 },
};

/** Parses a quantity, such as `500m`, `64Mi`, `1.5` or `1e3`. */
function amountOf(quantity = ''): number | undefined {
  const match = /^(\d+(?:\.\d+)?(?:[eE]\d+)?)([a-zA-Z]*)$/.exec(quantity);
  const factor = match && (match[2] === '' ? 1 : entryOf(SUFFIXES, match[2]!));
  return factor ? Number(match[1]) * factor : undefined;
}

export const OWN_NAME: FieldRef = { fieldPath: 'metadata.name' };
const OWN_UID = 'metadata.uid';

/**
 * Whether the manager's container receives the name or the uid of its Pod in a variable or a file. Such programs usually read that Pod, or
 * make it the owner of what they create.
 */
export function readsOwnPod({ object, container }: OwnPod['manager']): boolean {
  const isOwn = ({ fieldRef }: { fieldRef?: FieldRef } = {}): boolean =>
    fieldRef?.fieldPath === OWN_NAME.fieldPath || fieldRef?.fieldPath === OWN_UID;
  const mounted = (container.volumeMounts ?? []).map(({ name }) => name);
  const volumes = (object.spec.template.spec.volumes ?? []).filter(({ name }) => mounted.includes(name));
  const files = volumes.flatMap(projectedSources).flatMap(({ downwardAPI }) => downwardAPI?.items ?? []);
  return (container.env ?? []).some(({ valueFrom }) => isOwn(valueFrom)) || files.some(isOwn);
}

/** The sources of a volume's files. A volume with one source is treated like a projected volume. */
export function projectedSources(volume: Volume): NonNullable<NonNullable<Volume['projected']>['sources']> {
  const { secret, configMap, downwardAPI, projected } = volume;
  const { secretName = '', ...rest } = secret ?? {};
  const defaultMode = projected?.defaultMode;
  return [
    ...(secret ? [{ secret: { name: secretName, ...rest } }] : []),
    ...(configMap ? [{ configMap }] : []),
    ...(downwardAPI ? [{ downwardAPI }] : []),
    ...(projected?.sources ?? []).map(({ secret: ofSecret, configMap: ofMap, ...others }) => ({
      ...others,
      ...(ofSecret ? { secret: { defaultMode, ...ofSecret } } : {}),
      ...(ofMap ? { configMap: { defaultMode, ...ofMap } } : {}),
    })),
  ];
}

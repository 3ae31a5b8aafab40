import type { Container, Deployment, Service, ServicePort, Volume } from '../cluster/api/objects.ts';
import { undoOf, valueAt } from '../cluster/marks/marks.ts';

export function isSelectedBy(deployment: Deployment, selector: Record<string, string>): boolean {
  const labels = deployment.spec.template.metadata?.labels ?? {};
  const wanted = Object.entries(selector);
  return wanted.length > 0 && wanted.every(([key, value]) => labels[key] === value);
}

/** The manager's container: the one that declares the webhook's port, or has a usual name, or is the first. */
export function managerContainer(deployment: Deployment, targetPorts: (number | string)[]): Container {
  const { containers } = deployment.spec.template.spec;
  const declares = (container: Container): boolean =>
    (container.ports ?? []).some(
      (port) =>
        targetPorts.includes(port.containerPort) ||
        (port.name !== undefined && targetPorts.includes(port.name)),
    );
  const named = containers.find((container) => container.name === 'manager' || container.name === 'operator');
  return containers.find(declares) ?? named ?? containers[0]!;
}

/** The number of a Service port in the Pod: a named targetPort is looked up in the Pod template. */
export function targetPortOf(port: ServicePort, deployment: Deployment | undefined): number | undefined {
  const target = port.targetPort ?? port.port;
  if (typeof target === 'number') return target;
  const ports = deployment?.spec.template.spec.containers.flatMap((container) => container.ports ?? []) ?? [];
  return ports.find((one) => one.name === target)?.containerPort;
}

export function servicePort(service: Service, port: number): ServicePort | undefined {
  return service.spec.ports?.find((one) => one.port === port);
}

/** A Secret or ConfigMap that the container sees as files. */
export interface Mount {
  kind: 'Secret' | 'ConfigMap';
  name: string;
  /** In the container: the directory, or the file where `file` is set. */
  path: string;
  /** The one key that is mounted, as a file at `path` (subPath). */
  file?: string;
  /** key -> file name, where the volume renames keys. */
  items?: Record<string, string>;
}

export function mountsOf(deployment: Deployment, container: Container): Mount[] {
  const volumes = new Map(
    (deployment.spec.template.spec.volumes ?? []).map((volume) => [volume.name, volume]),
  );
  return (container.volumeMounts ?? []).flatMap((mount) => {
    const volume = volumes.get(mount.name);
    if (volume === undefined) return [];
    return sourcesOf(volume).map(
      (source): Mount => ({
        ...source,
        path: mount.mountPath.replace(/\/+$/, ''),
        ...(mount.subPath === undefined ? {} : { file: mount.subPath }),
      }),
    );
  });
}

function sourcesOf(volume: Volume): Omit<Mount, 'path' | 'file'>[] {
  const source = (
    kind: Mount['kind'],
    name: string,
    items?: { key: string; path: string }[],
  ): Omit<Mount, 'path' | 'file'> => ({
    kind,
    name,
    ...(items ? { items: Object.fromEntries(items.map((item) => [item.key, item.path])) } : {}),
  });
  return [
    ...(volume.secret ? [source('Secret', volume.secret.secretName, volume.secret.items)] : []),
    ...(volume.configMap ? [source('ConfigMap', volume.configMap.name, volume.configMap.items)] : []),
    ...(volume.projected?.sources ?? []).flatMap((one) => [
      ...(one.secret ? [source('Secret', one.secret.name, one.secret.items)] : []),
      ...(one.configMap ? [source('ConfigMap', one.configMap.name, one.configMap.items)] : []),
    ]),
  ];
}

/** Where controller-runtime looks by default, below the temporary directory. */
export const DEFAULT_CERTIFICATE_DIRECTORY = 'k8s-webhook-server/serving-certs';

/** Mounts of Secrets, the likeliest to hold the webhook's key pair first. */
export function certificateMounts(mounts: Mount[], container: Container): Mount[] {
  const words = [...(container.command ?? []), ...(container.args ?? [])].join('\n');
  const named = /(?<![\w-])--?(?:webhook-)?cert(?:ificate)?s?-(?:path|dir)[= \n]([^\s]+)/
    .exec(words)?.[1]
    ?.replace(/\/+$/, '');
  const weight = (mount: Mount): number =>
    (mount.path === named ? 8 : 0) +
    (mount.path.endsWith(DEFAULT_CERTIFICATE_DIRECTORY) ? 4 : 0) +
    (/webhook|serving/.test(mount.path + mount.name) ? 2 : 0) -
    (/metrics/.test(mount.path + mount.name) ? 1 : 0);
  return mounts.filter((mount) => mount.kind === 'Secret').sort((a, b) => weight(b) - weight(a));
}

/** The files of a mount: file name -> content, in base64 as in `data`. */
export function mountedFiles(mount: Mount, data: Record<string, string>): Record<string, string> {
  const entries = Object.entries(data).flatMap(([key, value]): [string, string][] => {
    if (mount.items === undefined) return [[key, value]];
    const path = mount.items[key];
    return path === undefined ? [] : [[path, value]];
  });
  return Object.fromEntries(entries);
}

/** The selector that a Service has, or had before a session removed it or pointed it to a relay. */
export function originalSelector(service: Service): Record<string, string> {
  const before = undoOf(service)?.fields.find((field) => field.path.join('.') === 'spec.selector')?.before;
  return (before ?? valueAt(service, ['spec', 'selector']) ?? {}) as Record<string, string>;
}

import { posix } from 'node:path';
import { withoutTrailingSlashes } from '../checkout/paths.ts';
import type { ClusterApi } from '../cluster/api/client.ts';
import type { Secret } from '../cluster/api/objects.ts';
import type { Container, Volume, Workload } from '../cluster/api/workloads.ts';
import { projectedSources } from './downward.ts';
import { splitName, type Target } from './target.ts';

/** A Secret or ConfigMap that the container sees as files. */
export interface Mount {
  kind: 'Secret' | 'ConfigMap';
  name: string;
  /** The path in the container: a directory, or a file if `file` is set. */
  path: string;
  /** The one key that is mounted, as a file at `path` (subPath). */
  file?: string;
  /** The file name for each key, if the volume renames keys. */
  items?: Record<string, string>;
  /** Whether the Pod starts even without it. */
  optional?: boolean;
}

export function mountsOf(workload: Workload, container: Container): Mount[] {
  const volumes = new Map((workload.spec.template.spec.volumes ?? []).map((volume) => [volume.name, volume]));
  return (container.volumeMounts ?? []).flatMap((mount) => {
    const volume = volumes.get(mount.name);
    if (volume === undefined) return [];
    return sourcesOf(volume).map(
      (source): Mount => ({
        ...source,
        path: withoutTrailingSlashes(mount.mountPath),
        file: mount.subPath,
      }),
    );
  });
}

function sourcesOf(volume: Volume): Omit<Mount, 'path' | 'file'>[] {
  return projectedSources(volume).flatMap(({ secret, configMap }) => {
    const kind = secret ? 'Secret' : 'ConfigMap';
    const { name, items, optional } = secret ?? configMap ?? {};
    if (name === undefined) return [];
    return [
      {
        kind,
        name,
        ...(items ? { items: Object.fromEntries(items.map((one) => [one.key, one.path])) } : {}),
        ...(optional ? { optional } : {}),
      },
    ];
  });
}

/** The files of a mount by name, with their contents in base64 as in `data`. */
function mountedFiles(mount: Mount, data: Record<string, string>): Record<string, string> {
  const entries = Object.entries(data).flatMap(([key, value]): [string, string][] => {
    if (mount.items === undefined) return [[key, value]];
    const path = mount.items[key];
    return path === undefined ? [] : [[path, value]];
  });
  return Object.fromEntries(entries);
}

/** A Secret that may hold the webhook's key pair, with its files as the container sees them. */
export interface SecretCandidate {
  namespace: string;
  name: string;
  /** The contents in base64, by file name; empty if the Secret is empty. */
  files: Record<string, string>;
  /** The directories in the container, the likeliest first; none for a Secret that is not mounted. */
  directories: string[];
  exists: boolean;
  /** Whether the manager runs even without it. */
  optional?: boolean;
  /** The Certificate from which cert-manager issued the Secret, if there is one. */
  certificate?: string;
}

/**
 * The mounted Secrets, the likeliest first. Only the certificate shows which Secret is the right one. OLM mounts one Secret twice, with
 * different file names, and a program looks in only one of the directories. So each Secret is returned once, with the files of all its
 * mounts.
 */
export async function certificateCandidates(api: ClusterApi, target: Target): Promise<SecretCandidate[]> {
  if (target.manager === undefined) return [];
  const { object, container } = target.manager;
  const namespace = object.metadata.namespace ?? target.namespace;
  const mounts = certificateMounts(mountsOf(object, container), container);
  const secrets = Map.groupBy(mounts, ({ name }) => name);
  return await Promise.all([...secrets.values()].map((same) => readSecret(api, namespace, same)));
}

/** The directory in which controller-runtime looks by default, relative to the temporary directory. */
export const DEFAULT_CERTIFICATE_DIRECTORY = 'k8s-webhook-server/serving-certs';

/** Mounts of Secrets, the likeliest to hold the webhook's key pair first. */
export function certificateMounts(mounts: Mount[], container: Container): Mount[] {
  const words = [...(container.command ?? []), ...(container.args ?? [])].join('\n');
  const [, written = ''] =
    /(?<![\w-])--?(?:webhook-)?cert(?:ificate)?s?-(?:path|dir)[= \n]([^\s]+)/.exec(words) ?? [];
  const named = withoutTrailingSlashes(written);
  const weight = (mount: Mount): number =>
    (named !== '' && mount.path === named ? 8 : 0) +
    (mount.path.endsWith(DEFAULT_CERTIFICATE_DIRECTORY) ? 4 : 0) +
    (/webhook|serving/.test(mount.path + mount.name) ? 2 : 0) -
    (/metrics/.test(mount.path + mount.name) ? 1 : 0);
  return mounts.filter((mount) => mount.kind === 'Secret').sort((a, b) => weight(b) - weight(a));
}

/** If two mounts have a file of the same name, the file in the likelier mount is used. */
async function readSecret(api: ClusterApi, namespace: string, mounts: Mount[]): Promise<SecretCandidate> {
  const { name } = mounts[0]!;
  const secret = await api.get<Secret>({ kind: 'Secret', namespace, name });
  const files = mounts.map((mount) => mountedFiles(mount, secret?.data ?? {}));
  const directories = mounts.map(({ path, file }) => (file === undefined ? path : posix.dirname(path)));
  return {
    namespace,
    name,
    files: Object.assign({}, ...files.toReversed()),
    directories: [...new Set(directories)],
    exists: secret !== undefined,
    ...(mounts.every(({ optional }) => optional) ? { optional: true } : {}),
    ...issuedFor(secret),
  };
}

/** The Secret that the user named, as `[namespace/]name`. */
export async function namedSecret(
  api: ClusterApi,
  defaultNamespace: string,
  secretName: string,
): Promise<SecretCandidate> {
  const { namespace, name } = splitName(secretName, defaultNamespace);
  const secret = await api.get<Secret>({ kind: 'Secret', namespace, name });
  const exists = secret !== undefined;
  return { namespace, name, files: secret?.data ?? {}, directories: [], exists, ...issuedFor(secret) };
}

function issuedFor(secret: Secret | undefined): { certificate?: string } {
  const certificate = secret?.metadata.annotations?.['cert-manager.io/certificate-name'];
  return certificate === undefined ? {} : { certificate };
}

/** The Secrets in a namespace that contain PEM: some operators read their Secret through the API instead of mounting it. */
export async function unmountedCandidates(api: ClusterApi, namespace: string): Promise<SecretCandidate[]> {
  const secrets = await api.list<Secret>('Secret', namespace).catch(() => []);
  return secrets
    .filter((secret) => Object.values(secret.data ?? {}).some((value) => value.startsWith(PEM_BASE64)))
    .map((secret) => ({
      namespace,
      name: secret.metadata.name,
      files: secret.data ?? {},
      directories: [],
      exists: true,
      ...issuedFor(secret),
    }));
}

/** `-----BEGIN ` in base64. */
const PEM_BASE64 = 'LS0tLS1CRUdJTi';

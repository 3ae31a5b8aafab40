import { posix } from 'node:path';
import type { ClusterApi } from '../cluster/api/client.ts';
import type { ConfigMap, Secret } from '../cluster/api/objects.ts';
import type { Target } from './discover.ts';
import { certificateMounts, type Mount, mountedFiles, mountsOf } from './workload.ts';

/** A Secret that may hold the webhook's key pair: as the container sees it when it is mounted. */
export interface SecretCandidate {
  namespace: string;
  name: string;
  /** File name -> base64. Empty when the Secret is empty. */
  files: Record<string, string>;
  /** Where the container sees it; absent for a Secret that no volume mounts. */
  directory?: string;
  /** The Secret exists. */
  exists: boolean;
  /** The Certificate of cert-manager that it belongs to, where there is one. */
  certificate?: string;
}

/** Mounted Secrets in the order of likelihood; which one it is, its certificate decides. */
export async function certificateCandidates(api: ClusterApi, target: Target): Promise<SecretCandidate[]> {
  if (target.deployment === undefined) return [];
  const { object, container } = target.deployment;
  const namespace = object.metadata.namespace ?? target.namespace;
  const mounts = certificateMounts(mountsOf(object, container), container);
  return await Promise.all(mounts.map((mount) => readSecret(api, namespace, mount)));
}

async function readSecret(api: ClusterApi, namespace: string, mount: Mount): Promise<SecretCandidate> {
  const secret = await api.get<Secret>({ kind: 'Secret', namespace, name: mount.name });
  return {
    namespace,
    name: mount.name,
    files: mountedFiles(mount, secret?.data ?? {}),
    directory: mount.file === undefined ? mount.path : posix.dirname(mount.path),
    exists: secret !== undefined,
    ...issuedFor(secret),
  };
}

/** `secret` is `[namespace/]name`. */
export async function namedSecret(
  api: ClusterApi,
  defaultNamespace: string,
  secretName: string,
): Promise<SecretCandidate> {
  const [name, namespace = defaultNamespace] = secretName.split('/').reverse() as [string, string?];
  const secret = await api.get<Secret>({ kind: 'Secret', namespace, name });
  return { namespace, name, files: secret?.data ?? {}, exists: secret !== undefined, ...issuedFor(secret) };
}

function issuedFor(secret: Secret | undefined): { certificate?: string } {
  const certificate = secret?.metadata.annotations?.['cert-manager.io/certificate-name'];
  return certificate === undefined ? {} : { certificate };
}

/** Every TLS Secret of a namespace: for operators that read their Secret through the API instead of a volume. */
export async function unmountedCandidates(api: ClusterApi, namespace: string): Promise<SecretCandidate[]> {
  const secrets = await api.list<Secret>('Secret', namespace).catch(() => []);
  return secrets
    .filter((secret) => Object.values(secret.data ?? {}).some((value) => value.startsWith(PEM_BASE64)))
    .map((secret) => ({
      namespace,
      name: secret.metadata.name,
      files: secret.data ?? {},
      exists: true,
      ...issuedFor(secret),
    }));
}

/** `-----BEGIN ` in base64. */
const PEM_BASE64 = 'LS0tLS1CRUdJTi';

/** A mounted file or directory that the manager's arguments or environment name, to be laid out on this machine too. */
export interface NamedMount {
  /** The path as the container sees it. */
  path: string;
  /** One file (subPath mounts) or a directory. */
  isFile: boolean;
  /** File name -> content. */
  files: Record<string, Buffer>;
}

/** Config files and key pairs that the arguments name by their mounted path. Mounts that nobody names are left alone. */
export async function namedMounts(api: ClusterApi, target: Target, words: string[]): Promise<NamedMount[]> {
  if (target.deployment === undefined) return [];
  const { object, container } = target.deployment;
  const namespace = object.metadata.namespace ?? target.namespace;
  const named = mountsOf(object, container).filter((mount) =>
    words.some((word) => mentions(word, mount.path)),
  );
  const read = await Promise.all(named.map((mount) => readMount(api, namespace, mount)));
  return read.filter((mount) => mount !== undefined);
}

/** Whether an argument or variable names that path, or one below it. Pure. */
export function mentions(word: string, path: string): boolean {
  const at = word.indexOf(path);
  return at >= 0 && /^(?:$|[/,;:"'\s])/.test(word.slice(at + path.length));
}

async function readMount(api: ClusterApi, namespace: string, mount: Mount): Promise<NamedMount | undefined> {
  const object = await api
    .get<Secret & ConfigMap>({ kind: mount.kind, namespace, name: mount.name })
    .catch(() => undefined);
  if (object === undefined) return undefined;
  const data: Record<string, string> =
    mount.kind === 'Secret'
      ? (object.data ?? {})
      : {
          ...Object.fromEntries(
            Object.entries(object.data ?? {}).map(([key, text]) => [
              key,
              Buffer.from(text).toString('base64'),
            ]),
          ),
          ...object.binaryData,
        };
  const files = Object.fromEntries(
    Object.entries(mountedFiles(mount, data)).map(([name, content]) => [
      name,
      Buffer.from(content, 'base64'),
    ]),
  );
  if (mount.file === undefined) return { path: mount.path, isFile: false, files };
  const content = files[mount.file];
  return content === undefined
    ? undefined
    : { path: mount.path, isFile: true, files: { [mount.file]: content } };
}

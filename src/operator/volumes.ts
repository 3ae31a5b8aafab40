/** What the manager's container sees at its mount points, except for what cannot be read outside a Pod. */
import { withoutTrailingSlashes } from '../checkout/paths.ts';
import type { ClusterApi } from '../cluster/api/client.ts';
import type { ConfigMap, Secret } from '../cluster/api/objects.ts';
import type { Container, KeyToPath, ProjectedSource, Volume } from '../cluster/api/workloads.ts';
import { isVolumePath } from '../machine/volume-files.ts';
import { downwardValue, entryOf, type OwnPod, projectedSources } from './downward.ts';

export interface MountedVolume {
  /** The mount point, as the container sees it. */
  path: string;
  /** Whether this is a single file (a subPath mount) instead of a directory. */
  isFile: boolean;
  /** The files by relative path; none for a volume that is empty at first. */
  files: Record<string, Buffer>;
  /** The names of the executable files. */
  executable: string[];
  /**
   * Whether the kubelet updates the files while the container runs, all at once: those of ConfigMaps and Secrets, but not in a subPath
   * mount.
   */
  isLive: boolean;
  /** What exists there only in the Pod, for display: `a token of its ServiceAccount`. */
  lacking: string[];
}

export interface MountPoint {
  path: string;
  subPath: string | undefined;
  volume: Volume;
}

export function mountPointsIn({ object, container }: OwnPod['manager']): MountPoint[] {
  const volumes = new Map((object.spec.template.spec.volumes ?? []).map((volume) => [volume.name, volume]));
  return (container.volumeMounts ?? []).flatMap(({ name, mountPath, subPath }) => {
    const volume = volumes.get(name);
    return volume ? [{ path: withoutTrailingSlashes(mountPath) || '/', subPath, volume }] : [];
  });
}

/** For display: `emptyDir cache`, `ConfigMap settings`. */
export function describeVolume({ name, configMap, secret, ...rest }: Volume): string {
  if (configMap) return `ConfigMap ${configMap.name}`;
  if (secret) return `Secret ${secret.secretName}`;
  return `${Object.keys(rest)[0] ?? 'volume'} ${name}`;
}

/** Whether an argument or variable names the path, or a path below it. */
export function mentions(word: string, path: string): boolean {
  for (let at = word.indexOf(path); at >= 0; at = word.indexOf(path, at + 1))
    if (/^(?:$|[/,;:"'\s])/.test(word.slice(at + path.length))) return true;
  return false;
}

/** Reads the volumes at these mount points. */
export async function readVolumes(
  api: ClusterApi,
  pod: OwnPod,
  points: MountPoint[],
): Promise<MountedVolume[]> {
  return await Promise.all(points.map((point) => readVolume(api, pod, point)));
}

async function readVolume(api: ClusterApi, pod: OwnPod, point: MountPoint): Promise<MountedVolume> {
  const { path, subPath, volume } = point;
  const sources = projectedSources(volume);
  const parts = await Promise.all(sources.map((source) => readSource(api, pod, source)));
  const { files: all, cut } = bounded(Object.assign({}, ...parts.map(({ files }) => files)));
  // Of several files with the same name, the last one counts.
  const runs = (name: string): boolean =>
    parts.findLast(({ files }) => Object.hasOwn(files, name))!.executable.includes(name);
  const lacking = [
    ...parts.flatMap((part) => part.lacking),
    ...lackingIn(volume, sources),
    ...written(pod, volume),
    ...cut,
  ];
  const executable = Object.keys(all).filter(runs);
  const isLive = sources.length > 0 && subPath === undefined;
  if (subPath === undefined) return { path, isFile: false, isLive, files: all, executable, lacking };
  const file = entryOf(all, subPath);
  const only = (name: string): boolean => name === subPath;
  const one = { path, isFile: true, isLive, lacking };
  if (file) return { ...one, files: { [subPath]: file }, executable: executable.filter(only) };
  return { ...partOf({ ...one, isFile: false, files: all, executable }, subPath), path };
}

/** What a volume has below one of its directories, by the names there. */
export function partOf(volume: MountedVolume, directory: string): MountedVolume {
  const isBelow = (name: string): boolean => name.startsWith(`${directory}/`);
  const within = (name: string): string => name.slice(directory.length + 1);
  const below = Object.entries(volume.files).filter(([name]) => isBelow(name));
  return {
    ...volume,
    path: `${volume.path}/${directory}`,
    files: Object.fromEntries(below.map(([name, content]) => [within(name), content])),
    executable: volume.executable.filter(isBelow).map(within),
  };
}

/** A ConfigMap has at most 1 MiB, but that can be a hundred thousand files, and a projected volume can have many ConfigMaps. */
const MOST_FILES = 5_000;
const MOST_BYTES = 32 * 1024 * 1024;

/** The files that are copied. The API server refuses paths that lead out of the volume, so such a path did not come from there. */
function bounded(all: Record<string, Buffer>): { files: Record<string, Buffer>; cut: string[] } {
  const valid = Object.entries(all).filter(([path]) => isVolumePath(path));
  let bytes = 0;
  const files = valid.filter(([, content], index) => {
    bytes += content.length;
    return index < MOST_FILES && bytes <= MOST_BYTES;
  });
  const isCut = files.length < valid.length;
  const what = `what is beyond the first ${MOST_FILES} files or ${MOST_BYTES / 1024 / 1024} MiB`;
  return { files: Object.fromEntries(files), cut: isCut ? [what] : [] };
}

/** An emptyDir lacks nothing, since it is empty at first; the contents of other volumes are only in the cluster. */
function lackingIn(volume: Volume, sources: ProjectedSource[]): string[] {
  if (sources.length > 0 || volume.emptyDir !== undefined || volume.projected !== undefined) return [];
  const driver = volume.csi ? ` of the driver ${volume.csi.driver}` : '';
  return [`the contents of its volume (${describeVolume(volume)}${driver})`];
}

function written({ manager }: OwnPod, volume: Volume): string[] {
  return fillersOf(volume, manager).map((one) => `what init container ${one.name} writes there`);
}

/** The init containers that can write to this emptyDir: they mount it in order to fill it. */
function fillersOf({ name, emptyDir }: Volume, { object }: Pick<OwnPod['manager'], 'object'>): Container[] {
  if (emptyDir === undefined) return [];
  const writes = ({ volumeMounts = [] }: Container): boolean =>
    volumeMounts.some((mount) => mount.name === name && mount.readOnly !== true);
  return (object.spec.template.spec.initContainers ?? []).filter(writes);
}

/** The mount points that are named after certificates, and whose volume an init container fills. */
export function filledCertificateDirectories(manager: OwnPod['manager']): string[] {
  const points = mountPointsIn(manager).filter(
    ({ path, subPath, volume }) =>
      /cert|tls|ssl|pki/i.test(path) && subPath === undefined && fillersOf(volume, manager).length > 0,
  );
  return points.map(({ path }) => path);
}

type Part = Pick<MountedVolume, 'files' | 'executable' | 'lacking'>;

async function readSource(api: ClusterApi, pod: OwnPod, source: ProjectedSource): Promise<Part> {
  const { secret, configMap, downwardAPI, serviceAccountToken } = source;
  if (serviceAccountToken) {
    const { audience } = serviceAccountToken;
    const token = `a token of its ServiceAccount${audience ? ` for ${audience}` : ''}`;
    return { ...NOTHING, lacking: [token] };
  }
  if (downwardAPI) {
    const items = (downwardAPI.items ?? []).map((item) => [item.path, downwardValue(item, pod)] as const);
    const known = items.filter((item): item is [string, string] => item[1] !== undefined);
    const files = Object.fromEntries(known.map(([path, value]) => [path, Buffer.from(value)]));
    const unknown = items.filter(([, value]) => value === undefined);
    return { files, executable: [], lacking: unknown.map(([path]) => `the file ${path}`) };
  }
  if (secret) return await readData(api, pod, { kind: 'Secret', ...secret });
  if (configMap) return await readData(api, pod, { kind: 'ConfigMap', ...configMap });
  return { ...NOTHING, lacking: Object.keys(source).map((kind) => `its ${kind}`) };
}

interface DataSource {
  kind: 'Secret' | 'ConfigMap';
  name: string;
  items?: KeyToPath[];
  optional?: boolean;
  defaultMode?: number;
}

const NOTHING: Part = { files: {}, executable: [], lacking: [] };

/** The mode of a file for which none is set. */
const READ_ALONE = 0o644;

/** One executable bit is enough: the user that runs the program in the Pod need not be the file's owner. */
function isExecutable(mode: number): boolean {
  return (mode & 0o111) !== 0;
}

/** What the API server accepts as a key of a ConfigMap or Secret. */
const KEY = /^(?!\.\.|\.$)[-.\w]{1,253}$/;

async function readData(api: ClusterApi, { namespace }: OwnPod, source: DataSource): Promise<Part> {
  const { kind, name, items, optional, defaultMode = READ_ALONE } = source;
  const object = await api.get<Secret & ConfigMap>({ kind, namespace, name }).catch(() => undefined);
  if (object === undefined)
    return {
      ...NOTHING,
      lacking: optional ? [] : [`${kind} ${name}, which does not exist or cannot be read`],
    };
  const encoded = Object.entries((kind === 'Secret' ? object.data : object.binaryData) ?? {});
  const texts = kind === 'Secret' ? [] : Object.entries(object.data ?? {});
  const data = new Map(
    [
      ...encoded.map(([key, value]) => [key, Buffer.from(value, 'base64')] as const),
      ...texts.map(([key, value]) => [key, Buffer.from(value)] as const),
    ].filter(([key]) => KEY.test(key)),
  );
  const chosen = (items ?? [...data.keys()].map((key): KeyToPath => ({ key, path: key }))).filter(({ key }) =>
    data.has(key),
  );
  const executable = chosen.filter(({ mode = defaultMode }) => isExecutable(mode)).map(({ path }) => path);
  const files = Object.fromEntries(chosen.map(({ key, path }) => [path, data.get(key)!]));
  return { files, executable, lacking: [] };
}

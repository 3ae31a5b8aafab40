import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import type { CheckoutFacts } from '../checkout/facts.ts';
import type { ClusterApi } from '../cluster/api/client.ts';
import type { Placed } from '../machine/mount-namespace.ts';
import { projectedSources } from '../operator/downward.ts';
import type { Target, TargetManager } from '../operator/target.ts';
import {
  describeVolume,
  type MountedVolume,
  type MountPoint,
  mentions,
  mountPointsIn,
  readVolumes,
} from '../operator/volumes.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { NAMESPACE_FILE } from './environment.ts';
import { defaultDirectory, type LocalFiles } from './key-pair-files.ts';
import type { MountedPath } from './mounts.ts';
import { isEmptyAtFirst, mayHavePlaces, namedIn, type VolumePlace, volumePlaces } from './volume-places.ts';

type SourcePaths = Pick<CheckoutFacts, 'paths'>;

/** What is needed to find the mounted files of a Deployment. */
export interface MountInputs {
  api: ClusterApi;
  target: Target;
  /** The name that the controller receives as its Pod's. */
  podName: string;
  files: LocalFiles;
  /** The directories in which the manager's container sees the key pairs. */
  keyPairMounts: string[];
  facts: SourcePaths;
  /** Whether files can be mounted where the controller looks for them. */
  mayPlace: boolean;
}

/** A volume whose files are copied as the Pod has them; `localCopies` decides what is written. */
export interface CopiedVolume extends Pick<MountedVolume, 'path' | 'files' | 'executable' | 'isLive'> {
  directory: string;
  /** The copy: the directory, or the one file. */
  to: string;
}

export interface PlannedMounts {
  paths: MountedPath[];
  copied: CopiedVolume[];
  /** The arguments and variables, and the texts of the files that they name: such a file can name other paths. */
  words: string[];
  /** Copies that are mounted at their paths in the Pod, since only the sources name these paths. */
  placed: Placed[];
}

/**
 * Plans the copies of the mounted paths that the arguments or variables (`words`) name: where each copy is on this machine, and what the
 * Pod has there.
 */
export async function planMounts(inputs: MountInputs, words: string[], emit: Emit): Promise<PlannedMounts> {
  const { target, files, keyPairMounts } = inputs;
  const paths = keyPairMounts.map((from) => ({ from, to: files.keyPairDirectory }));
  if (target.manager === undefined) return { paths, copied: [], words, placed: [] };
  const found = await namedVolumes(inputs, target.manager, words);
  const unserved = await unservedPairs(inputs, target.manager, found.others);
  const missed = await missedVolumes(inputs, target.manager, found.others);
  const copy = (volume: MountedVolume, directory = directoryFor(volume, files)): CopiedVolume => {
    const to = volume.isFile ? join(directory, Object.keys(volume.files)[0]!) : directory;
    reportCopy(volume, to, emit);
    return { ...volume, directory, to };
  };
  const direct = found.volumes.map((volume) => copy(volume));
  const ownPairs = unserved.map((volume) => copy(volume, defaultDirectory(join(files.directory, 'tmp'))));
  const places = [...missed.values()].flat().map((place) => ({ ...place, ...copy(place) }));
  paths.push(...[...direct, ...ownPairs].map(({ path, to }) => ({ from: path, to })));
  const placed = places.map(({ path, to, mayRun }) => ({ from: to, to: path, mayRun }));
  const copied = [...direct, ...ownPairs, ...places];
  const taken = new Set([...unserved, ...missed.keys()].map(({ path }) => path));
  const others = found.others.filter(({ path }) => !taken.has(path));
  reportOthers(others, inputs.facts, emit);
  return { paths, copied, words: found.named, placed };
}

/**
 * The directory for the copy of a volume: the same one as long as the volume is mounted there, so that the files change in place. Files that
 * do not change while the controller runs are in another directory when they are different, for the next start.
 */
function directoryFor({ path, isLive, files }: MountedVolume, { directory }: LocalFiles): string {
  const hash = createHash('sha256').update(path);
  if (!isLive)
    for (const [name, content] of Object.entries(files)) hash.update(`\0${name}\0`).update(content);
  const name = basename(path)
    .replaceAll(/[^\w.-]/g, '-')
    .slice(0, LONGEST_NAME);
  return join(directory, 'mounts', `${name}-${hash.digest('hex').slice(0, 8)}`);
}

/** The path is in messages, so its end says what it is. */
const LONGEST_NAME = 40;

interface NamedVolumes {
  volumes: MountedVolume[];
  /** The mounts that nothing names. */
  others: MountPoint[];
  named: string[];
}

/** Finds the volumes that the words name, and those that the files in these volumes name. */
async function namedVolumes(
  { api, target, podName, keyPairMounts }: MountInputs,
  manager: TargetManager,
  words: string[],
): Promise<NamedVolumes> {
  const pod = { manager, namespace: manager.object.metadata.namespace ?? target.namespace, podName };
  let others = otherMounts(manager, keyPairMounts);
  const volumes: MountedVolume[] = [];
  let named = words;
  for (let fresh = named; fresh.length > 0; ) {
    const isNamed = ({ path }: MountPoint): boolean => fresh.some((word) => mentions(word, path));
    const read = await readVolumes(api, pod, others.filter(isNamed));
    others = others.filter((one) => !isNamed(one));
    volumes.push(...read);
    fresh = read.flatMap(({ files }) => Object.values(files).filter(isText).map(String));
    named = [...named, ...fresh];
  }
  return { volumes, others, named };
}

/**
 * The key pairs of webhooks that nothing calls: a manager can serve such webhooks, and then exits if it finds no key pair. No argument
 * names controller-runtime's default directory, because it is below the temporary directory, which here is the session's own.
 */
async function unservedPairs(
  { api, target, podName }: MountInputs,
  manager: TargetManager,
  others: MountPoint[],
): Promise<MountedVolume[]> {
  if (target.services.length > 0) return [];
  const pod = { manager, namespace: manager.object.metadata.namespace ?? target.namespace, podName };
  const isDefault = ({ path, subPath }: MountPoint): boolean =>
    path === defaultDirectory('/tmp') && subPath === undefined;
  const volumes = await readVolumes(api, pod, others.filter(isDefault));
  return volumes.filter(({ files }) => Object.keys(files).length > 0);
}

/**
 * The volumes that only the sources name, and where the program finds them, if their contents can be read and mounted. An empty directory
 * counts, because the program may write to it.
 */
async function missedVolumes(
  { api, target, podName, facts, mayPlace }: MountInputs,
  manager: TargetManager,
  others: MountPoint[],
): Promise<Map<MountedVolume, VolumePlace[]>> {
  const { paths } = facts;
  if (!mayPlace) return new Map();
  const points = others.filter(
    (one) =>
      isInSources(one, facts) &&
      mayHavePlaces(one, paths) &&
      (isEmptyAtFirst(one) || projectedSources(one.volume).length > 0),
  );
  const pod = { manager, namespace: manager.object.metadata.namespace ?? target.namespace, podName };
  const volumes = await readVolumes(api, pod, points);
  const places = volumes.map(
    (volume, index) => [volume, volumePlaces(volume, points[index]!, paths)] as const,
  );
  return new Map(places.filter(([, some]) => some.length > 0));
}

/** The mounts of the manager's container that are not its key pairs. */
export function otherMounts(manager: TargetManager, keyPairMounts: string[]): MountPoint[] {
  const isKeyPair = ({ path, subPath }: MountPoint): boolean =>
    keyPairMounts.includes(subPath === undefined ? path : dirname(path));
  return mountPointsIn(manager).filter((one) => !isKeyPair(one) && !IS_HERE.has(one.path));
}

/**
 * Every machine has a `/tmp`. The controller gets the files of a ServiceAccount from devloop; a copy of the Pod's files, which has no
 * token, would hide them.
 */
const IS_HERE = new Set(['/tmp', dirname(NAMESPACE_FILE)]);

export function isText(content: Buffer): boolean {
  return !content.includes(0);
}

function reportCopy({ path, isFile, files, lacking }: MountedVolume, to: string, emit: Emit): void {
  const isEmpty = Object.keys(files).length === 0;
  emit(isEmpty ? notice('mount.created', { path, to }) : notice('mount.copied', { path, to, isFile }));
  if (lacking.length > 0) emit(notice('mount.incomplete', { path, to, lacking }));
}

function isInSources({ path }: MountPoint, { paths }: SourcePaths): boolean {
  return namedIn(paths, path).length > 0;
}

/** The mounts that the sources name cause a warning, because the controller is more likely to need them. */
function reportOthers(others: MountPoint[], facts: SourcePaths, emit: Emit): void {
  const [named, rest] = [true, false].map((isNamed) =>
    others
      .filter((one) => isInSources(one, facts) === isNamed)
      .map(({ path, volume }) => ({ path, volume: describeVolume(volume) })),
  );
  if (named!.length > 0) emit(notice('mounts.missed', { mounts: named! }));
  if (rest!.length > 0) emit(notice('mounts.unnamed', { mounts: rest! }));
}

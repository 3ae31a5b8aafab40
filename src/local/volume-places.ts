import { dirname, join } from 'node:path';
import { isAtOrBelow, withoutTrailingSlashes } from '../checkout/paths.ts';
import { isFree, isOpenPlace, isPlaceable } from '../machine/places.ts';
import { type MountedVolume, type MountPoint, partOf } from '../operator/volumes.ts';

/** A file or directory that the program finds at `path` as in the Pod, with what it may see of a volume. */
export interface VolumePlace extends MountedVolume {
  mayRun: boolean;
}

/** Whether a volume that the sources name can be where they look for it, as far as that is known without its files. */
export function mayHavePlaces(point: MountPoint, paths: ReadonlySet<string>): boolean {
  if (isEmptyAtFirst(point)) return isPlaceable(point.path) && isFree(point.path);
  const isDirectoryFor = (path: string): boolean => path !== point.path || point.subPath !== undefined;
  return namedIn(paths, point.path).some(
    (path) => isOpen(path) || (isDirectoryFor(path) && isOpen(dirname(path))),
  );
}

/**
 * The parts of a volume that appear where the sources look for them. Whoever edits the Deployment chooses the mount point and the files. So
 * a file or directory appears only at a path that is written out in the sources, and only if no program of this machine expects files of
 * its own in that directory. A directory that is empty at first brings no files.
 *
 * A file appears as the only one in its directory, because a file that is mounted by itself does not change any more.
 */
export function volumePlaces(
  volume: MountedVolume,
  point: MountPoint,
  paths: ReadonlySet<string>,
): VolumePlace[] {
  if (isEmptyAtFirst(point)) return [{ ...volume, mayRun: true }];
  const named = namedIn(paths, volume.path);
  if (volume.isFile)
    return named.includes(volume.path) && isOpen(dirname(volume.path)) ? [{ ...volume, mayRun: false }] : [];
  const parts = named.flatMap((to) => partAt(to, volume) ?? []).filter(({ directory }) => isOpen(directory));
  const isWithinAnother = ({ directory }: Part): boolean =>
    parts.some((other) => other.directory !== directory && isAtOrBelow(directory, other.directory));
  const outermost = new Set(parts.filter((one) => !isWithinAnother(one)).map(({ directory }) => directory));
  return [...outermost].map((directory) => {
    const names = parts.filter((one) => isAtOrBelow(one.directory, directory)).flatMap((one) => one.names);
    return { ...only(volume, directory, new Set(names)), mayRun: false };
  });
}

/** These files of a volume, as they are in one of its directories. */
function only(volume: MountedVolume, directory: string, names: ReadonlySet<string>): MountedVolume {
  const files = Object.fromEntries(Object.entries(volume.files).filter(([name]) => names.has(name)));
  const executable = volume.executable.filter((name) => names.has(name));
  const part = { ...volume, files, executable };
  return directory === volume.path ? part : partOf(part, directory.slice(volume.path.length + 1));
}

export function isEmptyAtFirst({ volume }: MountPoint): boolean {
  return volume.emptyDir !== undefined;
}

function isOpen(directory: string): boolean {
  return isOpenPlace(directory) && isFree(directory);
}

/** The paths in the sources at or below a mount point. */
export function namedIn(paths: ReadonlySet<string>, mountPoint: string): string[] {
  const all = [...paths].map((path) => withoutTrailingSlashes(path) || '/');
  return [...new Set(all)].filter((path) => isAtOrBelow(path, mountPoint));
}

/** Files of a volume, by their names in it, and the directory in which the container finds them. */
interface Part {
  directory: string;
  names: string[];
}

/** What the container finds at a path; undefined if that is nothing. */
function partAt(to: string, { path, files }: MountedVolume): Part | undefined {
  const name = to === path ? '' : to.slice(path.length + 1);
  if (Object.hasOwn(files, name)) return { directory: dirname(to), names: [name] };
  const names = Object.keys(files).filter((file) => name === '' || file.startsWith(join(name, '/')));
  return names.length === 0 ? undefined : { directory: to, names };
}

import { dirname, join } from 'node:path';
import { isAtOrBelow, withoutTrailingSlashes } from '../checkout/paths.ts';
import { isFree, isOpenPlace, isPlaceable } from '../machine/places.ts';
import type { MountedVolume, MountPoint } from '../operator/volumes.ts';

/** A part of a volume that the program finds at its path in the Pod. */
export interface VolumePlace {
  /** A file or directory of the volume by its relative path; empty for the whole volume. */
  part: string;
  to: string;
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
 */
export function volumePlaces(
  volume: MountedVolume,
  point: MountPoint,
  paths: ReadonlySet<string>,
): VolumePlace[] {
  if (isEmptyAtFirst(point)) return [{ part: '', to: volume.path, mayRun: true }];
  const places = namedIn(paths, volume.path).flatMap((to): VolumePlace[] => {
    const part = partAt(to, volume);
    if (part === undefined) return [];
    const directory = part.isFile ? dirname(to) : to;
    return isOpen(directory) ? [{ part: part.name, to, mayRun: false }] : [];
  });
  const isWithinAnother = ({ to }: VolumePlace): boolean =>
    places.some((other) => other.to !== to && isAtOrBelow(to, other.to));
  return places.filter((one) => !isWithinAnother(one));
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

/** What the container finds at a path: a file or directory of the volume, by its relative path. */
function partAt(
  to: string,
  { path, isFile, files }: MountedVolume,
): { name: string; isFile: boolean } | undefined {
  if (isFile) return to === path ? { name: Object.keys(files)[0]!, isFile } : undefined;
  const name = to === path ? '' : to.slice(path.length + 1);
  if (Object.hasOwn(files, name)) return { name, isFile: true };
  const isPart = Object.keys(files).some((file) => name === '' || file.startsWith(join(name, '/')));
  return isPart ? { name, isFile: false } : undefined;
}

import { relative } from 'node:path';
import type { ImageFile } from '../checkout/language.ts';
import { isAtOrBelow } from '../checkout/paths.ts';
import type { Placed } from '../machine/mount-namespace.ts';
import { isFree, isPlaceable } from '../machine/places.ts';
import { mentions } from '../operator/volumes.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';

interface ImageInputs {
  /** The files of the checkout in the image. */
  imageFiles: ImageFile[];
  root: string;
  /** The absolute paths that the sources name. */
  paths: ReadonlySet<string>;
  /** The arguments and variables, and the texts of mounted files. */
  words: string[];
  /** The mount points of the container, which hide the image's own files there. */
  mounted: string[];
  /** Whether files can be mounted where the controller looks for them. */
  mayPlace: boolean;
}

/** Mounts files of the checkout at their paths in the image, such as /templates, if the controller looks for them there. */
export function placeImageFiles(
  { imageFiles, root, paths, words, mounted, mayPlace }: ImageInputs,
  emit: Emit,
): Placed[] {
  const named = imageFiles.filter(
    ({ to }) =>
      !mounted.some((path) => isAtOrBelow(to, path)) &&
      ([...paths].some((path) => isAtOrBelow(path, to)) || words.some((word) => mentions(word, to))),
  );
  const here = ({ from }: ImageFile): string => relative(root, from) || 'the checkout';
  const placed = named.filter(({ to }) => mayPlace && isPlaceable(to) && isFree(to));
  for (const one of placed) emit(notice('image-file.placed', { path: one.to, from: here(one) }));
  for (const one of named.filter((file) => !placed.includes(file)))
    emit(notice('image-file.missing', { path: one.to, from: here(one) }));
  // The checkout's own programs can be run there, as in the image.
  return placed.map((one) => ({ ...one, mayRun: true }));
}

import { relative } from 'node:path';
import type { ImageFile } from '../controller/go/image-files.ts';
import { isFree, isPlaceable, type Placed } from '../machine/mount-namespace.ts';
import { isAtOrBelow } from '../operator/path-flags.ts';
import { mentions } from '../operator/volumes.ts';
import type { Emit } from '../report/events.ts';

interface ImageInputs {
  /** What the image has of the checkout. */
  imageFiles: ImageFile[];
  root: string;
  /** What the sources name. */
  paths: ReadonlySet<string>;
  /** The arguments and variables, and the texts of mounted files. */
  words: string[];
  /** The mount points of the container, which cover what its image has there. */
  mounted: string[];
  /** The controller can find files in their places. */
  mayPlace: boolean;
}

/** The files of the checkout that the controller looks for where its image has them, such as /templates. */
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
  for (const one of placed)
    emit({ type: 'note', message: `${one.to}\nis ${here(one)} for the controller alone, as in its image.` });
  for (const one of named.filter((file) => !placed.includes(file))) {
    const message = `The image has ${here(one)} at ${one.to}, where the controller does not find it on this machine.`;
    emit({ type: 'warning', message });
  }
  return placed;
}

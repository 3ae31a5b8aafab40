import type { ImageFile } from '../controller/go/image-files.ts';
import { isAtOrBelow } from '../operator/path-flags.ts';
import { isSetting } from './environment.ts';

interface ImageSettings {
  /** The variables that the image sets. */
  imageVariables: Record<string, string>;
  /** The files of the checkout in the image. */
  imageFiles: ImageFile[];
  /** The mount points of the container. */
  mounted: string[];
}

/** An absolute path, but not that of a URL. */
const PATHS = /(?<![^\s:=,;])\/[\w.-][^\s:,;]*/g;

/**
 * The variables of an image that are settings of its program. A variable with a path that only the image has describes the image, so it is
 * left out.
 */
export function settingsOfImage({
  imageVariables,
  imageFiles,
  mounted,
}: ImageSettings): Record<string, string> {
  const places = [...imageFiles.map(({ to }) => to), ...mounted];
  const isHere = (path: string): boolean => places.some((place) => isAtOrBelow(path, place));
  const settings = Object.entries(imageVariables).filter(
    ([name, value]) => isSetting(name) && (value.match(PATHS) ?? []).every(isHere),
  );
  return Object.fromEntries(settings);
}

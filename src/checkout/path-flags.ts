import type { Flag } from './flags.ts';
import { isAtOrBelow, withoutTrailingSlashes } from './paths.ts';

/** A flag whose default can be an absolute path. */
export type PathFlag = Pick<Flag, 'flag' | 'value' | 'directory'>;

/** For each default at or below this path, the flags that have it, each with the directories of the packages that define it. */
export function flagsBelow(flags: PathFlag[], wanted: string): Map<string, Map<string, Set<string>>> {
  return byDefault(flags, (path) => isAtOrBelow(path, wanted));
}

const CERTIFICATE_DIRECTORY = /cert(?:ificate)?s?-?dir(?:ectory)?$/i;

/** Like flagsBelow, for flags that are named after a directory of certificates, whatever their defaults. */
export function certificateFlags(flags: PathFlag[]): ReturnType<typeof flagsBelow> {
  const named = flags.filter(({ flag }) => CERTIFICATE_DIRECTORY.test(flag));
  return byDefault(named, () => true);
}

function byDefault(
  all: PathFlag[],
  isWanted: (path: string) => boolean,
): Map<string, Map<string, Set<string>>> {
  const found = new Map<string, Map<string, Set<string>>>();
  for (const { flag, value, directory } of all) {
    if (typeof value !== 'string' || !value.startsWith('/')) continue;
    const path = withoutTrailingSlashes(value);
    if (!isWanted(path)) continue;
    const flags = found.get(path) ?? new Map<string, Set<string>>();
    found.set(path, flags.set(flag, (flags.get(flag) ?? new Set()).add(directory)));
  }
  return found;
}

import type { DefinedFlag } from './flags.ts';
import type { LinkedPackages } from './language.ts';

/** Which of these flags a program defines. `definers` has the directories of the packages that define each flag. */
export async function linkedFlags(
  linked: LinkedPackages,
  definers: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<string[]> {
  if (definers.size === 0) return [];
  const places = new Set((await linked()).values());
  const isLinked = (directories: ReadonlySet<string>): boolean =>
    [...directories].some((one) => places.has(one));
  return [...definers].filter(([, directories]) => isLinked(directories)).map(([flag]) => flag);
}

/** The flags that a package of the program defines. */
export async function ofProgram<T extends Pick<DefinedFlag, 'directory'>>(
  linked: LinkedPackages,
  flags: T[],
): Promise<T[]> {
  if (flags.length === 0) return [];
  const directories = new Set((await linked()).values());
  return flags.filter(({ directory }) => directories.has(directory));
}

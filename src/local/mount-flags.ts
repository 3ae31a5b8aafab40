import type { Work } from '../cluster/work.ts';
import { type GoProgram, linkedFlags } from '../controller/go/linked-packages.ts';
import type { ExpandedArgument } from '../operator/environment.ts';
import { flagsBelow, type PathFlags } from '../operator/path-flags.ts';
import { type MountPoint, mentions } from '../operator/volumes.ts';

export interface DefaultedMounts {
  /** Those of the manager's container, without its key pairs. */
  mounts: MountPoint[];
  pathFlags: PathFlags;
  /** Absent for a command of the user's: nothing says which flags it has. */
  built?: GoProgram | undefined;
  /** The arguments, and the values of the variables. */
  words: string[];
}

/**
 * The flags by whose defaults the controller finds mounted files that nothing names. Written out, they are arguments like the others,
 * which become those of the copy on this machine.
 */
export async function planMountFlags(
  { mounts, pathFlags, built, words }: DefaultedMounts,
  { emit, signal }: Pick<Work, 'emit' | 'signal'>,
): Promise<ExpandedArgument[]> {
  if (built === undefined) return [];
  const unnamed = mounts.filter(({ path }) => !words.some((word) => mentions(word, path)));
  const defaults = new Map(unnamed.flatMap(({ path }) => [...flagsBelow(pathFlags, path)]));
  const isGiven = (flag: string): boolean => words.some((word) => /^--?([^=]+)/.exec(word)?.[1] === flag);
  const candidates = [...defaults].map(([path, flags]) =>
    [...flags]
      .filter(([flag]) => !isGiven(flag))
      .map(([flag, definers]) => [`--${flag}=${path}`, definers] as const),
  );
  // All at once: the go tool takes a second to list a program's packages.
  const linked = new Set(await linkedFlags(built, new Map(candidates.flat()), signal));
  return candidates.flatMap((ofPath) => {
    const [own, ...others] = ofPath.map(([argument]) => argument).filter((argument) => linked.has(argument));
    // Two can belong to two subcommands, of which each refuses the flag of the other.
    if (own === undefined || others.length > 0) return [];
    emit({ type: 'note', message: `${own}\nis added: this is its default, which only the Pod has.` });
    return [{ value: own, shown: own }];
  });
}

import { requireRoom } from '../certificates/files.ts';
import type { Work } from '../cluster/work.ts';
import { type LinkedPackages, linkedFlags } from '../controller/go/linked-packages.ts';
import { DevloopError, messageOf } from '../errors.ts';
import { isPortBusy } from '../machine/port.ts';
import type { ExpandedArgument } from '../operator/environment.ts';
import { flagsBelow, type PathFlags } from '../operator/path-flags.ts';
import { type MountPoint, mentions } from '../operator/volumes.ts';
import { auxiliaryPort } from './arguments.ts';

export interface KeyPairPlaces {
  /** Mount points of key pairs that the sources name, and no argument or variable. */
  hardCoded: string[];
  pathFlags: PathFlags;
  /** Where the key pair is on this machine. */
  keyPairDirectory: string;
  /** The program's packages; absent for a command of the user's. */
  linked?: LinkedPackages | undefined;
  /** The user named a directory, or variables, by which it may look elsewhere. */
  mayLookElsewhere: boolean;
}

/**
 * How a program that devloop starts finds its key pair where its sources name a directory that this account cannot write, such as
 * /certs: by the flags whose defaults are that directory, or files in it. Throws `certificate.not-written` where it is known that it finds none.
 */
export async function planKeyPairFlags(
  { hardCoded, pathFlags, keyPairDirectory, linked, mayLookElsewhere }: KeyPairPlaces,
  { emit }: Pick<Work, 'emit'>,
): Promise<{ args: string[]; hardCoded: string[] }> {
  const refused: { directory: string; cause: unknown }[] = [];
  for (const directory of hardCoded)
    await requireRoom(directory, []).catch((cause: unknown) => refused.push({ directory, cause }));
  const writable = hardCoded.filter((one) => refused.every(({ directory }) => directory !== one));
  const flags: { path: string; argument: string }[] = [];
  for (const { directory } of refused) {
    for (const [path, defining] of flagsBelow(pathFlags, directory)) {
      const own = linked ? await linkedFlags(linked, defining) : [...defining.keys()];
      const here = keyPairDirectory + path.slice(directory.length);
      // Two may be about two servers.
      if (own.length === 1) flags.push({ path, argument: `--${own[0]}=${here}` });
    }
  }
  if (refused[0] !== undefined && writable.length + flags.length === 0) {
    if (!mayLookElsewhere) throw notFound(refused[0].directory, refused[0].cause);
    // Writing there fails with a warning.
    return { args: [], hardCoded };
  }
  for (const { path, argument } of flags) {
    const message = `${argument}\nis added: its default is ${path}, where devloop cannot write the key pair.`;
    emit({ type: 'note', message });
  }
  return { args: flags.map(({ argument }) => argument), hardCoded: writable };
}

function notFound(directory: string, cause: unknown): DevloopError {
  const message = `The controller looks for its key pair in ${directory}, as its sources say, and no flag was found that names another directory. ${messageOf(cause)}`;
  const hint = `sudo install -d -o "$(id -un)" ${directory}   # then run devloop up again`;
  return new DevloopError('certificate.not-written', message, { hint, cause });
}

interface DefaultedMounts {
  /** Those of the manager's container, without its key pairs. */
  mounts: MountPoint[];
  pathFlags: PathFlags;
  /** The program's packages; absent for a command of the user's: nothing says which flags it has. */
  linked?: LinkedPackages | undefined;
  /** The arguments, and the values of the variables. */
  words: string[];
}

/**
 * The flags by whose defaults the controller finds mounted files that nothing names. Written out, they are arguments like the others,
 * which become those of the copy on this machine.
 */
export async function planMountFlags(
  { mounts, pathFlags, linked, words }: DefaultedMounts,
  { emit }: Pick<Work, 'emit'>,
): Promise<ExpandedArgument[]> {
  if (linked === undefined) return [];
  const unnamed = mounts.filter(({ path }) => !words.some((word) => mentions(word, path)));
  const defaults = new Map(unnamed.flatMap(({ path }) => [...flagsBelow(pathFlags, path)]));
  const isGiven = isGivenIn(words);
  const candidates = [...defaults].map(([path, flags]) =>
    [...flags]
      .filter(([flag]) => !isGiven(flag))
      .map(([flag, definers]) => [`--${flag}=${path}`, definers] as const),
  );
  const defined = new Set(await linkedFlags(linked, new Map(candidates.flat())));
  return candidates.flatMap((ofPath) => {
    const [own, ...others] = ofPath.map(([argument]) => argument).filter((argument) => defined.has(argument));
    // Two can belong to two subcommands, of which each refuses the flag of the other.
    if (own === undefined || others.length > 0) return [];
    emit({ type: 'note', message: `${own}\nis added: this is its default, which only the Pod has.` });
    return [{ value: own, shown: own }];
  });
}

function isGivenIn(words: string[]): (flag: string) => boolean {
  return (flag) => words.some((word) => /^--?([^=]+)/.exec(word)?.[1] === flag);
}

interface DefaultedAddresses {
  addressFlags: ReadonlyMap<string, ReadonlySet<string>>;
  /** The program's packages; absent for a command of the user's: nothing says which flags it has. */
  linked?: LinkedPackages | undefined;
  /** The arguments, and the values of the variables. */
  words: string[];
  /** The arguments of the controller that runs already: it listens on the ports of defaults that these do not change. */
  running?: string[] | undefined;
}

/**
 * The flags by whose defaults the controller would serve metrics or health checks on a port that is in use on this machine. Written out,
 * they are arguments like the others, which get another port.
 */
export async function planAddressFlags({
  addressFlags,
  linked,
  words,
  running,
}: DefaultedAddresses): Promise<ExpandedArgument[]> {
  if (linked === undefined) return [];
  const isGiven = isGivenIn(words);
  const mayChange = running === undefined ? () => true : isGivenIn(running);
  const candidates = [...addressFlags].map(async ([argument, definers]) => {
    const flag = /^--([^=]+)/.exec(argument)![1]!;
    const port = isGiven(flag) || !mayChange(flag) ? undefined : auxiliaryPort(argument);
    return port !== undefined && (await isPortBusy(port)) ? [[argument, definers] as const] : [];
  });
  const colliding = new Map((await Promise.all(candidates)).flat());
  const defined = await linkedFlags(linked, colliding);
  return defined.map((argument) => ({ value: argument, shown: argument }));
}

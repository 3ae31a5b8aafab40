import { requireRoom } from '../certificates/files.ts';
import type { Work } from '../cluster/work.ts';
import { type LinkedPackages, linkedFlags } from '../controller/go/linked-packages.ts';
import { DevloopError, messageOf } from '../errors.ts';
import type { Placed } from '../machine/mount-namespace.ts';
import { isFree, isOpenPlace, isPlaceable } from '../machine/places.ts';
import {
  type AddressArgument,
  type AddressFlags,
  addressArguments,
  argumentsOfProgram,
} from '../operator/address-flags.ts';
import type { ExpandedArgument } from '../operator/environment.ts';
import { certificateFlags, flagsBelow, type PathFlags } from '../operator/path-flags.ts';
import { type MountPoint, mentions } from '../operator/volumes.ts';
import { shellWord } from '../phrases.ts';
import type { Emit } from '../report/events.ts';
import { auxiliaryPorts } from './arguments.ts';
import { busyAmong } from './busy-ports.ts';

export interface KeyPairPlaces {
  /** Mount points of key pairs that the sources name, but no argument or variable does. */
  hardCoded: string[];
  pathFlags: PathFlags;
  /** The directory of the key pair on this machine. */
  keyPairDirectory: string;
  /** The program's packages; absent for the user's own command. */
  linked?: LinkedPackages | undefined;
  /** Whether files can be mounted where the program looks for them. */
  mayPlace?: boolean | undefined;
  /**
   * Whether the program may look elsewhere: in a directory that the user or the user's variables name, beside its own file, or where
   * controller-runtime looks by default.
   */
  mayLookElsewhere: boolean;
}

export interface PlannedKeyPairs {
  args: string[];
  /** Other directories to which the key pair has to be written. */
  hardCoded: string[];
  /** Mounts of the key pair that only the program sees. */
  placed: Placed[];
}

/**
 * Plans how a program that devloop starts finds its key pair if its sources name a directory to which this account cannot write, such as
 * /certs, or in which devloop writes nothing of the cluster, such as /usr/share/certs: through the flags whose defaults are that directory or files in it, or through a mount that only the program sees. Throws
 * `certificate.not-written` if the program certainly finds no key pair.
 */
export async function planKeyPairFlags(
  { hardCoded, mayLookElsewhere, ...places }: KeyPairPlaces,
  { emit }: Pick<Work, 'emit'>,
): Promise<PlannedKeyPairs> {
  const refused = new Map<string, unknown>();
  for (const directory of hardCoded)
    await requireOpen(directory).catch((cause: unknown) => refused.set(directory, cause));
  const planned: PlannedKeyPairs = {
    args: [],
    hardCoded: hardCoded.filter((one) => !refused.has(one)),
    placed: [],
  };
  for (const directory of refused.keys()) {
    const flags = await keyPairFlags(directory, places);
    for (const { path, argument } of flags) {
      const message = `${argument}\nis added: its default is ${path}, where devloop does not write the key pair.`;
      emit({ type: 'note', message });
    }
    planned.args.push(...flags.map(({ argument }) => argument));
    if (flags.length > 0 || !places.mayPlace || !mayPlaceAt(directory)) continue;
    const message = `${directory}\ncontains the key pair, but only the controller sees it: this account cannot write there.`;
    emit({ type: 'note', message });
    planned.placed.push({ from: places.keyPairDirectory, to: directory });
  }
  const [first] = refused;
  if (first === undefined || Object.values(planned).some((found) => found.length > 0)) return planned;
  if (!mayLookElsewhere) throw notFound(...first);
  // The result includes the directories where this account cannot write: writing there fails later, with a warning.
  return { ...planned, hardCoded: openAmong(hardCoded, emit) };
}

function mayPlaceAt(directory: string): boolean {
  return isOpenPlace(directory) && isPlaceable(directory) && isFree(directory);
}

/** Throws if devloop must not, or cannot, write a key pair to this directory. */
async function requireOpen(directory: string): Promise<void> {
  if (!isOpenPlace(directory))
    throw new DevloopError('certificate.not-written', closedPlace(directory), { hint: NAME_IT });
  await requireRoom(directory, []);
}

const NAME_IT = 'Let the controller take the directory from a flag or a variable.';

function closedPlace(directory: string): string {
  return `devloop writes no files of the cluster to ${directory}, because other programs of this machine may use them there.`;
}

/** The directories to which a Secret may be written: in others, a program of this machine could take its files for settings. */
export function openAmong(directories: string[], emit: Emit): string[] {
  for (const one of directories)
    if (!isOpenPlace(one)) emit({ type: 'warning', message: `The sources name ${one}. ${closedPlace(one)}` });
  return directories.filter(isOpenPlace);
}

/**
 * The flag that names another directory for a program that reads its key pair from the API and writes it to files, if this account is not
 * allowed to write to the default directory. Empty if an argument (`words`) sets the flag.
 */
export async function planOwnDirectory(
  { pathFlags, keyPairDirectory, linked }: Pick<KeyPairPlaces, 'pathFlags' | 'keyPairDirectory' | 'linked'>,
  words: string[],
  { emit }: Pick<Work, 'emit'>,
): Promise<string[]> {
  const args: string[] = [];
  const isGiven = isGivenIn(words);
  for (const [path, defining] of linked ? certificateFlags(pathFlags) : []) {
    const [own, ...others] = await linkedFlags(linked!, defining);
    if (own === undefined || others.length > 0 || isGiven(own)) continue;
    if ((await requireRoom(path, []).catch((error: unknown) => error)) === undefined) continue;
    const argument = `--${own}=${keyPairDirectory}`;
    emit({
      type: 'note',
      message: `${argument}\nis added: its default is ${path}, where this account cannot write.`,
    });
    args.push(argument);
  }
  return args;
}

/** The flags whose defaults are a directory of key pairs or files in it, with the matching paths on this machine. */
async function keyPairFlags(
  directory: string,
  { pathFlags, keyPairDirectory, linked }: Omit<KeyPairPlaces, 'hardCoded' | 'mayLookElsewhere'>,
): Promise<{ path: string; argument: string }[]> {
  const flags: { path: string; argument: string }[] = [];
  for (const [path, defining] of flagsBelow(pathFlags, directory)) {
    const own = linked ? await linkedFlags(linked, defining) : [...defining.keys()];
    const here = keyPairDirectory + path.slice(directory.length);
    // Two flags may belong to two servers, so neither of them is set.
    if (own.length === 1) flags.push({ path, argument: `--${own[0]}=${here}` });
  }
  return flags;
}

function notFound(directory: string, cause: unknown): DevloopError {
  const message = `The controller's sources say that it looks for its key pair in ${directory}, and devloop found no flag to choose another directory. ${messageOf(cause)}`;
  const hint = isOpenPlace(directory)
    ? `sudo install -d -o "$(id -un)" ${shellWord(directory)}   # then run devloop up again`
    : NAME_IT;
  return new DevloopError('certificate.not-written', message, { hint, cause });
}

interface DefaultedMounts {
  /** The mounts of the manager's container, without its key pairs. */
  mounts: MountPoint[];
  pathFlags: PathFlags;
  /** The program's packages; absent for the user's own command, whose flags are not known. */
  linked?: LinkedPackages | undefined;
  /** The arguments, and the values of the variables. */
  words: string[];
}

/**
 * The flags whose defaults point to mounted files that nothing else names. Once these flags are among the arguments, their paths are
 * replaced by the paths of the copies on this machine, as in every other argument.
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
    // Two flags can belong to two subcommands, each of which refuses the other's flag.
    if (own === undefined || others.length > 0) return [];
    emit({
      type: 'note',
      message: `${own}\nis added: this is the flag's default in the sources, a path that only the Pod has.`,
    });
    return [{ value: own, shown: own }];
  });
}

export function isGivenIn(words: string[]): (flag: string) => boolean {
  return (flag) => words.some((word) => /^--?([^=]+)/.exec(word)?.[1] === flag);
}

interface DefaultedAddresses {
  addressFlags: AddressFlags;
  /** The program's packages; absent for the user's own command, whose flags are not known. */
  linked?: LinkedPackages | undefined;
  /** The manager's arguments. */
  given: string[];
  /** The arguments, and the values of the variables. */
  words: string[];
  /**
   * The arguments of the controller that is already running, which listens on the default ports of flags that these arguments do not set.
   */
  running?: string[] | undefined;
}

/**
 * The flags whose defaults would make the controller serve metrics or health checks on a port that is in use on this machine. Once these
 * flags are among the arguments, they get another port, like every other argument.
 */
export async function planAddressFlags({
  addressFlags,
  linked,
  given,
  words,
  running,
}: DefaultedAddresses): Promise<ExpandedArgument[]> {
  if (linked === undefined) return [];
  const isGiven = isGivenIn(words);
  const mayChange = running === undefined ? () => true : isGivenIn(running);
  const candidates = addressArguments(addressFlags).filter(({ argument }) => {
    const flag = /^--([^=]+)/.exec(argument)![1]!;
    return !isGiven(flag) && mayChange(flag);
  });
  // Several programs of a checkout can have the same flag.
  const portsOf = ({ argument }: AddressArgument): number[] => auxiliaryPorts([argument]);
  const busy = await busyAmong(candidates.flatMap(portsOf));
  const colliding = candidates.filter((one) => portsOf(one).some((port) => busy.includes(port)));
  if (colliding.length === 0) return [];
  const directories = new Set((await linked()).values());
  const { commands } = addressFlags;
  const known = argumentsOfProgram(colliding, { commands, linked: directories, words: given });
  return known.map((argument) => ({ value: argument, shown: argument }));
}

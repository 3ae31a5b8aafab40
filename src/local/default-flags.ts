import { requireRoom } from '../certificates/files.ts';
import type { LinkedPackages } from '../checkout/language.ts';
import { linkedFlags } from '../checkout/linked-packages.ts';
import { certificateFlags, type PathFlag } from '../checkout/path-flags.ts';
import type { Work } from '../cluster/work.ts';
import { DevloopError, messageOf } from '../errors.ts';
import type { Placed } from '../machine/mount-namespace.ts';
import { isFree, isOpenPlace, isPlaceable } from '../machine/places.ts';
import type { ExpandedArgument } from '../operator/environment.ts';
import { type MountPoint, mentions } from '../operator/volumes.ts';
import { shellWord } from '../phrases.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { closedPlace } from '../report/notices/local-files.ts';
import { isGivenIn, pathDefaults } from './default-settings.ts';

export interface KeyPairPlaces {
  /** Mount points of key pairs that the sources name, but no argument or variable does. */
  hardCoded: string[];
  /** The flags that the sources define. */
  flags: PathFlag[];
  /** The directory of the key pair on this machine. */
  keyPairDirectory: string;
  /** The program's packages; absent for the user's own command, and where the language does not tell. */
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
    for (const flag of flags)
      planned.args.push(
        added(flag, `its default is ${flag.before}, where devloop does not write the key pair`, emit),
      );
    if (flags.length > 0 || !places.mayPlace || !mayPlaceAt(directory)) continue;
    emit(notice('key-pair.placed', { directory }));
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

/** The directories to which a Secret may be written: in others, a program of this machine could take its files for settings. */
export function openAmong(directories: string[], emit: Emit): string[] {
  for (const one of directories)
    if (!isOpenPlace(one)) emit(notice('key-pair.closed-place', { directory: one }));
  return directories.filter(isOpenPlace);
}

/**
 * The flag that names another directory for a program that reads its key pair from the API and writes it to files, if this account is not
 * allowed to write to the default directory. Empty if an argument (`words`) sets the flag.
 */
export async function planOwnDirectory(
  { flags, keyPairDirectory, linked }: Pick<KeyPairPlaces, 'flags' | 'keyPairDirectory' | 'linked'>,
  words: string[],
  { emit }: Pick<Work, 'emit'>,
): Promise<string[]> {
  const args: string[] = [];
  const isGiven = isGivenIn(words);
  for (const [path, defining] of linked ? certificateFlags(flags) : []) {
    const [own, ...others] = await linkedFlags(linked!, defining);
    if (own === undefined || others.length > 0 || isGiven(own)) continue;
    if ((await requireRoom(path, []).catch((error: unknown) => error)) === undefined) continue;
    const change = { setting: `--${own}`, before: path, after: keyPairDirectory };
    args.push(added(change, `its default is ${path}, where this account cannot write`, emit));
  }
  return args;
}

/** The flags whose defaults are a directory of key pairs or files in it, with the matching paths on this machine. */
async function keyPairFlags(
  directory: string,
  { keyPairDirectory, ...known }: Omit<KeyPairPlaces, 'hardCoded' | 'mayLookElsewhere'>,
): Promise<DefaultChange[]> {
  const defaults = await pathDefaults(known, directory, []);
  return defaults.map(({ flag, value: before }) => {
    return { setting: `--${flag}`, before, after: keyPairDirectory + before.slice(directory.length) };
  });
}

function notFound(directory: string, cause: unknown): DevloopError {
  const message = `The controller's sources say that it looks for its key pair in ${directory}, and devloop found no flag to choose another directory. ${messageOf(cause)}`;
  const hint = isOpenPlace(directory)
    ? `sudo install -d -o "$(id -un)" ${shellWord(directory)}   # then run devloop up again`
    : NAME_IT;
  return new DevloopError('certificate.not-written', message, { hint, cause });
}

interface DefaultChange {
  setting: string;
  before: string;
  after: string;
}

/** The argument for a flag with another value than its default. */
function added(change: DefaultChange, because: string, emit: Emit): string {
  emit(notice('setting.changed', { place: 'default', ...change, because }));
  return `${change.setting}=${change.after}`;
}

interface DefaultedMounts {
  /** The mounts of the manager's container, without its key pairs. */
  mounts: MountPoint[];
  /** The flags that the sources define. */
  flags: PathFlag[];
  /** The program's packages; absent for the user's own command, and where the language does not tell. */
  linked?: LinkedPackages | undefined;
  /** The arguments, and the values of the variables. */
  words: string[];
}

/**
 * The flags whose defaults point to mounted files that nothing else names. Once these flags are among the arguments, their paths are
 * replaced by the paths of the copies on this machine, as in every other argument.
 */
export async function planMountFlags(
  { mounts, flags, linked, words }: DefaultedMounts,
  { emit }: Pick<Work, 'emit'>,
): Promise<ExpandedArgument[]> {
  if (linked === undefined) return [];
  const unnamed = mounts.filter(({ path }) => !words.some((word) => mentions(word, path)));
  const defaults = await Promise.all(unnamed.map(({ path }) => pathDefaults({ flags, linked }, path, words)));
  const different = new Map(defaults.flat().map(({ flag, value }) => [`--${flag}`, value]));
  return [...different].map(([setting, path]) => {
    const because = "this is the flag's default in the sources, a path that only the Pod has";
    const argument = added({ setting, before: path, after: path }, because, emit);
    return { value: argument, shown: argument };
  });
}

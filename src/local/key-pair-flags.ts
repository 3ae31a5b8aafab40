import { requireRoom } from '../certificates/files.ts';
import type { Work } from '../cluster/work.ts';
import { type GoProgram, linkedFlags } from '../controller/go/linked-packages.ts';
import { DevloopError, messageOf } from '../errors.ts';
import { flagsFor, type PathFlags } from '../operator/path-flags.ts';

export interface KeyPairPlaces {
  /** Mount points of key pairs that the sources name, and no argument or variable. */
  hardCoded: string[];
  pathFlags: PathFlags;
  /** Where the key pair is on this machine. */
  keyPairDirectory: string;
  /** Absent for a command of the user's. */
  built?: GoProgram | undefined;
  /** The user named a directory, or variables, by which it may look elsewhere. */
  mayLookElsewhere: boolean;
}

/**
 * How a program that devloop starts finds its key pair where its sources name a directory that this account cannot write, such as
 * /certs: by the flag whose default that directory is. Throws `certificate.not-written` where it is known that it finds none.
 */
export async function planKeyPairFlags(
  { hardCoded, pathFlags, keyPairDirectory, built, mayLookElsewhere }: KeyPairPlaces,
  { emit, signal }: Pick<Work, 'emit' | 'signal'>,
): Promise<{ args: string[]; hardCoded: string[] }> {
  const refused: { directory: string; cause: unknown }[] = [];
  for (const directory of hardCoded)
    await requireRoom(directory, []).catch((cause: unknown) => refused.push({ directory, cause }));
  const writable = hardCoded.filter((one) => refused.every(({ directory }) => directory !== one));
  const flags: { directory: string; argument: string }[] = [];
  for (const { directory } of refused) {
    const defining = flagsFor(pathFlags, directory);
    const own = built ? await linkedFlags(built, defining, signal) : [...defining.keys()];
    // Two may be about two servers.
    if (own.length === 1) flags.push({ directory, argument: `--${own[0]}=${keyPairDirectory}` });
  }
  if (refused[0] !== undefined && writable.length + flags.length === 0) {
    if (!mayLookElsewhere) throw notFound(refused[0].directory, refused[0].cause);
    // Writing there fails with a warning.
    return { args: [], hardCoded };
  }
  for (const { directory, argument } of flags) {
    const message = `${argument}\nis added: its default is ${directory}, where devloop cannot write the key pair.`;
    emit({ type: 'note', message });
  }
  return { args: flags.map(({ argument }) => argument), hardCoded: writable };
}

function notFound(directory: string, cause: unknown): DevloopError {
  const message = `The controller looks for its key pair in ${directory}, as its sources say, and no flag was found that names another directory. ${messageOf(cause)}`;
  const hint = `sudo install -d -o "$(id -un)" ${directory}   # then run devloop up again`;
  return new DevloopError('certificate.not-written', message, { hint, cause });
}

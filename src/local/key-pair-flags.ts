import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DevloopError } from '../errors.ts';
import { flagFor, type PathFlags } from '../operator/path-flags.ts';
import type { Emit } from '../report/events.ts';

export interface KeyPairPlaces {
  /** Mount points of key pairs that the sources name, and no argument or variable. */
  hardCoded: string[];
  pathFlags: PathFlags;
  /** Where the key pair is on this machine. */
  keyPairDirectory: string;
}

/**
 * How a program that devloop starts finds its key pair where its sources name a directory that this account cannot write, such as
 * /certs: by the flag whose default that directory is. Throws `certificate.not-written` where it is known that it finds none.
 */
export async function planKeyPairFlags(
  { hardCoded, pathFlags, keyPairDirectory }: KeyPairPlaces,
  emit: Emit,
): Promise<{ args: string[]; hardCoded: string[] }> {
  const writable = new Set<string>();
  for (const directory of hardCoded) if (await canMake(directory)) writable.add(directory);
  const others = hardCoded.filter((directory) => !writable.has(directory));
  const flags = others.flatMap((directory) => {
    const flag = flagFor(pathFlags, directory);
    return flag === undefined ? [] : [{ directory, argument: `--${flag}=${keyPairDirectory}` }];
  });
  if (others.length > 0 && writable.size + flags.length === 0) throw notFound(others[0]!);
  for (const { directory, argument } of flags) {
    const message = `${argument}\nis added: its default is ${directory}, which your account cannot write.`;
    emit({ type: 'note', message });
  }
  return { args: flags.map(({ argument }) => argument), hardCoded: [...writable] };
}

function notFound(directory: string): DevloopError {
  const message = `The controller looks for its key pair in ${directory}, as its sources say, but your account cannot write there, and no flag was found that names another directory.`;
  const hint = `sudo install -d -o "$(id -un)" ${directory}   # then run devloop up again`;
  return new DevloopError('certificate.not-written', message, { hint });
}

/** Whether this account can write to a directory, or create it. */
async function canMake(directory: string): Promise<boolean> {
  const found = await stat(directory).catch(() => undefined);
  if (found === undefined) return directory !== dirname(directory) && (await canMake(dirname(directory)));
  if (!found.isDirectory()) return false;
  return await access(directory, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
}

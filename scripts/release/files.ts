import { writeInstallers } from './installers.ts';
import { writePackages } from './package-managers.ts';
import type { Release, Step } from './step.ts';
import { publicKeyOf, signSums, writeSums } from './sums.ts';

export const files: Step = {
  name: 'installers, manifests and checksums',
  run: (release) => writeFiles(release, process.env),
};

/**
 * What goes around the archives: the scripts that install them, the manifests of package managers, and the checksums of all, signed.
 * DEVLOOP_RELEASE_KEY is the file of the key, DEVLOOP_RELEASE_URL where the files of this version will be.
 */
export function writeFiles(
  { out, version, say }: Pick<Release, 'out' | 'version' | 'say'>,
  env: Record<string, string | undefined>,
): void {
  const { DEVLOOP_RELEASE_KEY: key, DEVLOOP_RELEASE_URL: url = '' } = env;
  writeInstallers(out, { version, publicKey: key ? publicKeyOf(key) : '', url });
  writePackages(out, version, url);
  writeSums(out);
  if (key) signSums(out, key);
  else say('not signed: DEVLOOP_RELEASE_KEY names no key, so install.sh can verify only the checksums');
}

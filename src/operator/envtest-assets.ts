import { access, constants, readdir } from 'node:fs/promises';
import { join } from 'node:path';

const PROGRAMS = ['etcd', 'kube-apiserver'];

/**
 * The programs of an API server that are missing from a directory. The operator's own tests need the same programs (KUBEBUILDER_ASSETS).
 */
export async function missingAssets(directory: string): Promise<string[]> {
  const isThere = PROGRAMS.map((name) =>
    access(join(directory, name), constants.X_OK).then(
      () => true,
      () => false,
    ),
  );
  const found = await Promise.all(isThere);
  return PROGRAMS.filter((_, index) => !found[index]);
}

/**
 * The first directory that contains these programs: where the operator's own tests find them, or where kubebuilder's Makefile puts them.
 */
export async function envtestAssets(
  checkout: string,
  env: Record<string, string | undefined>,
): Promise<string | undefined> {
  const below = join(checkout, 'bin', 'k8s');
  const found = [below, join(below, 'k8s')].map(async (directory) => {
    const names = await readdir(directory).catch(() => []);
    return names
      .sort()
      .reverse()
      .map((name) => join(directory, name));
  });
  const named = env.KUBEBUILDER_ASSETS;
  for (const directory of [...(named ? [named] : []), ...(await Promise.all(found)).flat()])
    if ((await missingAssets(directory)).length === 0) return directory;
  return undefined;
}

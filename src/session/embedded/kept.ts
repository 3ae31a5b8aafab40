import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DevloopError } from '../../errors.ts';
import { makePath, writeBelow } from '../../machine/own-files.ts';
import { readTextFile } from '../../machine/text-file.ts';
import { minorOf } from '../context/envtest-assets.ts';

/** The command that removes kept data. */
const REMOVE = 'devloop down --embedded';

export interface KeptData {
  /** What `devloop down --embedded` removes. */
  directory: string;
  /** etcd's directory. */
  data: string;
  /** Whether an earlier session has written it. */
  isOld: boolean;
}

/** The data of `up --embedded --keep`, for a server of this version. Throws 'embedded.data' if a newer one has written it, since an older one may not read it. */
export async function openKept(directory: string, version: string): Promise<KeptData> {
  const file = join(directory, 'kubernetes');
  const minor = minorOf(version)!;
  const before = (await readTextFile(file)).trim();
  if (isNewer(before, minor))
    throw new DevloopError(
      'embedded.data',
      `The data that an earlier session kept in ${directory} is of Kubernetes ${before}, and the API server here is ${minor}.`,
      { hint: `Use assets of ${before} (KUBEBUILDER_ASSETS), or remove the data: ${REMOVE}` },
    );
  await writeBelow(dirname(directory), async () => {
    await makePath(directory);
    await writeFile(file, `${minor}\n`, { mode: 0o600 });
  });
  return { directory, data: join(directory, 'etcd'), isOld: before !== '' };
}

/** What to say if etcd gives up on the data of an earlier session. */
export function doesNotOpen({ directory }: KeptData, { message }: DevloopError): DevloopError {
  return new DevloopError(
    'embedded.data',
    `The data that an earlier session kept in ${directory} cannot be opened. ${message}`,
    { hint: `Remove it: ${REMOVE}` },
  );
}

/** What to say if a CRD cannot follow the checkout because of kept objects. */
export function storedAs(crd: string, versions: string[]): DevloopError {
  return new DevloopError(
    'embedded.data',
    `The kept objects of CustomResourceDefinition ${crd} are stored as ${versions.join(' and ')}, which the checkout no longer has.`,
    { hint: `Remove them: ${REMOVE}` },
  );
}

function isNewer(one: string, other: string): boolean {
  return one.localeCompare(other, 'en', { numeric: true }) > 0;
}

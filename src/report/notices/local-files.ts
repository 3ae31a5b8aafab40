import { describe, type ObjectName } from '../object-name.ts';
import { note, warning } from './notice.ts';

/** Where the controller finds the files that its Pod has. */
export const LOCAL_FILES = {
  /** What is mounted at `path` in the Pod is copied. */
  'mount.copied': note<{ path: string; to: string; isFile: boolean }>(
    ({ path, to, isFile }) => `The mounted ${isFile ? 'file' : 'directory'} ${path}\nis copied to ${to}.`,
  ),
  /** The directory that is mounted at `path` in the Pod is empty at first. */
  'mount.created': note<{ path: string; to: string }>(
    ({ path, to }) => `For the mounted directory ${path}\nan empty one is created: ${to}.`,
  ),
  /** Files of a mounted directory cannot be read from the API. */
  'mount.incomplete': warning<{ path: string; to: string; lacking: string[] }>(
    ({ path, to, lacking }) => `The controller finds ${path} in ${to}, but without ${lacking.join(', ')}.`,
  ),
  /** The sources name these mounts, but no argument or variable does, so the controller probably misses them. */
  'mounts.missed': warning<{ mounts: Mount[] }>(({ mounts }) => {
    const them = themOf(mounts);
    return `The sources name ${listOf(mounts)}, which only the Pod has: no argument or variable names ${them}, so devloop does not copy ${them}, and it does not mount ${them} there.`;
  }),
  /** Nothing names these mounts. */
  'mounts.unnamed': note<{ mounts: Mount[] }>(
    ({ mounts }) => `Only the Pod has ${listOf(mounts)}:\nno argument or variable names ${themOf(mounts)}.`,
  ),
  /** Files of the checkout that the image has at `path`. */
  'image-file.placed': note<{ path: string; from: string }>(
    ({ path, from }) => `${path}\nis mounted from ${from}, as in the image; only the controller sees it.`,
  ),
  /** Files of the checkout that the image has at `path`, and that cannot be there on this machine. */
  'image-file.missing': warning<{ path: string; from: string }>(
    ({ path, from }) =>
      `The image has ${from} at ${path}, but the controller does not find it there on this machine.`,
  ),
  /** The directory in which the sources look for the key pair already has one of the user. */
  'key-pair.own': note<{ directory: string }>(
    ({ directory }) =>
      `The sources name ${directory}, but it already contains your own key pair, which devloop leaves unchanged.`,
  ),
  /** The key pair could not be written to a directory that the sources name. */
  'key-pair.not-written': warning<{ directory: string; cause: string }>(
    ({ directory, cause }) => `The controller may look for its key pair in ${directory}: ${cause}`,
  ),
  /** The key pair is mounted where the sources look for it. */
  'key-pair.placed': note<{ directory: string }>(
    ({ directory }) =>
      `${directory}\ncontains the key pair, but only the controller sees it: this account cannot write there.`,
  ),
  /** The sources name a directory of this machine that other programs may use, so no key pair is written there. */
  'key-pair.closed-place': warning<{ directory: string }>(
    ({ directory }) => `The sources name ${directory}. ${closedPlace(directory)}`,
  ),
  /** The certificate in a Secret can be used, but there is something wrong with it. */
  'certificate.doubtful': warning<{ secret: ObjectName; cause: string }>(
    ({ secret, cause }) => `${describe(secret)}: ${cause}`,
  ),
  /** The caBundle of a caller does not trust the certificate in a Secret. */
  'certificate.distrusted': warning<{ caller: ObjectName; secret: ObjectName; cause: string }>(
    ({ caller, secret, cause }) =>
      `Reviews for ${describe(caller)} fail, because kube-apiserver does not trust the certificate of ${describe(secret)} for them: ${cause}`,
    ({ caller, secret }) => ownCa(secret, `${describe(caller)} again.`),
  ),
  /** The key pair in a Secret has changed, but the new one cannot be used. `next`: what to do, if the certificate is the reason. */
  'certificate.not-refreshed': warning<{ secret: ObjectName; cause: string; next?: string }>(
    ({ cause }) => `The certificate could not be refreshed, so devloop will try again: ${cause}`,
    ({ secret, next }) => next && `${next}\n${ownCa(secret, 'the webhook configuration again.')}`,
  ),
};

interface Mount {
  path: string;
  /** What is mounted there. */
  volume: string;
}

function listOf(mounts: Mount[]): string {
  return mounts.map(({ path, volume }) => `${path} (${volume})`).join(', ');
}

function themOf(mounts: Mount[]): string {
  return mounts.length === 1 ? 'it' : 'them';
}

export function closedPlace(directory: string): string {
  return `devloop writes no files of the cluster to ${directory}, because other programs of this machine may use them there.`;
}

/** What to do about a controller that makes a CA, and writes it into the caBundle. */
function ownCa(secret: ObjectName, deployed: string): string {
  return `If the controller makes its own CA when it starts, have it take its key pair from ${describe(secret)}. Then deploy ${deployed}`;
}

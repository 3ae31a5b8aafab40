import { DevloopError, messageOf } from '../errors.ts';

const CAUSES: Record<string, string> = {
  EEXIST: 'a file stands in the place of a directory',
  ENOTDIR: 'a file stands in the place of a directory',
  EISDIR: 'a directory stands in the place of a file',
  EACCES: 'no permission',
  EPERM: 'it belongs to another user',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
};

/** What was thrown by a file operation, as an error that names the directory and the cause. */
export function writeFailure(directory: string, error: unknown): unknown {
  const { code, path, dest } = error as NodeJS.ErrnoException & { dest?: string };
  if (code === undefined) return error;
  const cause = CAUSES[code] ?? messageOf(error);
  const place = dest ?? path;
  const at = place === undefined || place === directory ? '' : ` (${place})`;
  return new DevloopError(
    'certificate.not-written',
    `Cannot keep the key pair in ${directory}: ${cause}${at}`,
    {
      hint: 'Move what is in the way, or choose another directory for the certificates.',
      cause: error,
    },
  );
}

const LIMITS: Record<string, { name: string; value: number }> = {
  ENOSPC: { name: 'fs.inotify.max_user_watches', value: 524_288 },
  EMFILE: { name: 'fs.inotify.max_user_instances', value: 1_024 },
};

/** If the system refuses to watch any more files: the limit that is reached, and how to raise it. */
export function watchLimit({
  code = '',
}: NodeJS.ErrnoException): { message: string; hint: string } | undefined {
  const limit = process.platform === 'linux' ? LIMITS[code] : undefined;
  return (
    limit && {
      message: `the limit ${limit.name} of this system is reached, so saves may go unnoticed`,
      hint: `sudo sysctl ${limit.name}=${limit.value}`,
    }
  );
}

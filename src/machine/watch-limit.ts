interface Limit {
  message: string;
  hint: string;
}

function limit(name: string, hint: string): Limit {
  return { message: `the limit ${name} of this system is reached, so saves may go unnoticed`, hint };
}

const LIMITS: Record<string, Limit> = {
  ENOSPC: limit('fs.inotify.max_user_watches', 'sudo sysctl fs.inotify.max_user_watches=524288'),
  EMFILE: limit('fs.inotify.max_user_instances', 'sudo sysctl fs.inotify.max_user_instances=1024'),
};

/** If the system refuses to watch any more files: the limit that is reached, and how to raise it. */
export function watchLimit({ code = '' }: NodeJS.ErrnoException): Limit | undefined {
  return process.platform === 'linux' ? LIMITS[code] : undefined;
}

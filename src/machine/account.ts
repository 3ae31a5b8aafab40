import { userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';

export interface Account {
  /** The account's name, or `uid 12345` if the system has none for it. */
  name: string;
  /** The account's uid; -1 on Windows. */
  uid: number;
  home: string;
}

/** The account that runs this process. A container can run under a uid for which the system has no name; then Node throws. */
export function ownAccount({ HOME: home = '/' }: Record<string, string | undefined>): Account {
  try {
    const { username: name, uid, homedir } = userInfo();
    return { name, uid, home: homedir };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SYSTEM_ERROR') throw error;
    const uid = process.getuid?.() ?? -1;
    return { name: `uid ${uid}`, uid, home };
  }
}

/** `HOME` as the user set it, or the account's home directory. */
export function homeDirectory(env: Record<string, string | undefined>): string {
  return absolute(env.HOME) ?? ownAccount(env).home;
}

/** What programs keep for this user: what they know, or what they can make again. */
export function keptDirectory(env: Record<string, string | undefined>, kind: 'state' | 'cache'): string {
  return kind === 'state'
    ? (absolute(env.XDG_STATE_HOME) ?? join(homeDirectory(env), '.local', 'state'))
    : (absolute(env.XDG_CACHE_HOME) ?? join(homeDirectory(env), '.cache'));
}

/** A relative path, or an empty one, would lead below the current directory, which may be a stranger's checkout. */
function absolute(path: string | undefined): string | undefined {
  return path !== undefined && isAbsolute(path) ? path : undefined;
}

import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { sleep } from '../../async.ts';
import { messageOf } from '../../errors.ts';
import { watchLimit } from '../../machine/watch-limit.ts';
import type { WatchScope } from './scope.ts';

export interface DirectoryEvents {
  /** Called when something happened to this file. */
  onPath(path: string): void;
  /** Called with a new directory below one that is watched. */
  onDirectory?(path: string): void;
  /** Called with directories that were not watched for a while: what is in them may be new. */
  onBack(directories: string[]): void;
  /** Called once for each message: every directory that cannot be watched has the same one. */
  onError(message: string, hint?: string): void;
}

export interface WatchedDirectories extends AsyncDisposable {
  /** Resolves when they are watched. */
  add(directories: string[]): Promise<void>;
}

/**
 * The time for the removal of a directory to finish, and for chokidar to begin to watch a directory that was added later: chokidar does not
 * report when it begins.
 */
const SETTLE_MS = 100;

/**
 * Watches the directories of a scope, and those that are added. If chokidar does not watch subdirectories, it notices nothing in a
 * directory that was missing or removed and is back, so such a directory is added again. Resolves when all directories that exist are
 * watched.
 */
export async function watchDirectories(
  { directories, recursive, isOutside }: Pick<WatchScope, 'directories' | 'recursive' | 'isOutside'>,
  { onPath, onDirectory, onBack, onError }: DirectoryEvents,
  signal: AbortSignal,
): Promise<WatchedDirectories> {
  // chokidar is imported here, since most commands of devloop watch nothing.
  const { watch } = await import('chokidar');
  const depth = recursive ? {} : { depth: 0 };
  const chokidar = watch(directories, { ignoreInitial: true, atomic: false, ignored: isOutside, ...depth });
  /** The identity of each watched directory: a new directory with the same name is not watched yet. */
  const watched = new Map(directories.map((directory) => [directory, identityOf(directory)]));
  const doubtful = new Set<string>();
  let looking: Promise<void> | undefined;

  async function look(): Promise<void> {
    while (doubtful.size > 0 && (await sleep(SETTLE_MS, signal))) {
      const there = [...doubtful].filter((directory) => identityOf(directory) !== undefined);
      for (const directory of there) doubtful.delete(directory);
      const others = there.filter((directory) => identityOf(directory) !== watched.get(directory));
      if (others.length > 0) await watchAnew(others);
    }
  }

  async function watchAnew(others: string[]): Promise<void> {
    // `unwatch` also stops watching the directories below.
    const again = [...watched.keys()].filter((one) => others.some((other) => isAtOrBelow(one, other)));
    chokidar.unwatch(again).add(again);
    for (const directory of again) note(directory);
    if (await sleep(SETTLE_MS, signal)) onBack(again);
  }

  function note(directory: string): void {
    watched.set(directory, identityOf(directory));
    doubt(directory);
  }

  function doubt(directory: string): void {
    if (recursive || !watched.has(directory)) return;
    doubtful.add(directory);
    looking ??= look().finally(() => {
      looking = undefined;
    });
  }

  chokidar.on('all', (event, path) => {
    if (event.startsWith('unlink')) doubt(event === 'unlinkDir' ? path : dirname(path));
    if (event === 'addDir') onDirectory?.(path);
    if (!event.endsWith('Dir')) onPath(path);
  });
  chokidar.on('error', onceEach(onError));
  await new Promise<void>((resolve) => chokidar.once('ready', resolve));
  directories.forEach(doubt);
  return {
    async add(more) {
      chokidar.add(more);
      more.forEach(note);
      await sleep(SETTLE_MS, signal);
    },
    async [Symbol.asyncDispose]() {
      await looking;
      await chokidar.close();
    },
  };
}

function onceEach(onError: DirectoryEvents['onError']): (error: unknown) => void {
  const reported = new Set<string>();
  return (error) => {
    const limit = watchLimit(error as NodeJS.ErrnoException);
    const message = limit?.message ?? messageOf(error);
    if (!reported.has(message)) onError(message, limit?.hint);
    reported.add(message);
  };
}

/**
 * Identifies a directory; undefined if it is missing. The inode number alone is not enough: it can be reused when a directory is removed.
 */
function identityOf(directory: string): string | undefined {
  try {
    const { ino, birthtimeNs } = statSync(directory, { bigint: true });
    return `${ino} ${birthtimeNs}`;
  } catch {
    return undefined;
  }
}

function isAtOrBelow(path: string, directory: string): boolean {
  return `${path}/`.startsWith(`${directory}/`);
}

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isLate } from './content-memory.ts';
import { type DirectoryEvents, type WatchedDirectories, watchDirectories } from './directories.ts';
import type { WatchScope } from './scope.ts';

export interface FollowedDirectories extends AsyncDisposable {
  /** Follows these, too. `sinceMs`: when they were listed, on the clock of `Date.now()`. */
  add(directories: string[], sinceMs: number): Promise<void>;
}

/** Watches the directories of a scope, and takes in those that are made below, also before they are watched. Resolves when all are watched. */
export async function followDirectories(
  now: () => WatchScope,
  handlers: Omit<DirectoryEvents, 'onDirectory'>,
  { sinceMs, signal }: { sinceMs: number; signal: AbortSignal },
): Promise<FollowedDirectories> {
  // Events can arrive before everything is watched.
  const ready = Promise.withResolvers<WatchedDirectories>();
  const onDirectory = (path: string): void =>
    void ready.promise
      .then((watched) => takeIn(path, now, watched))
      .then(handlers.onBack)
      .catch(() => {});
  const watched = await watchDirectories(now(), { ...handlers, onDirectory }, signal);
  ready.resolve(watched);
  (await madeIn(now(), sinceMs)).forEach(onDirectory);
  return {
    async add(directories, listedMs) {
      await watched.add(directories);
      (await madeIn(now(), listedMs, directories)).forEach(onDirectory);
    },
    [Symbol.asyncDispose]: () => watched[Symbol.asyncDispose](),
  };
}

/** Watches a new directory and those below it, if they count; what is made there before they are watched is found afterwards. */
async function takeIn(
  directory: string,
  now: () => WatchScope,
  watched: WatchedDirectories,
): Promise<string[]> {
  const below = async (): Promise<string[]> => (await now().takeIn?.(directory)) ?? [];
  const found = await below();
  if (found.length === 0) return [];
  await watched.add(found);
  const more = (await below()).filter((one) => !found.includes(one));
  if (more.length > 0) await watched.add(more);
  return [...found, ...more];
}

/**
 * The directories that were made in these after the scope was read, and before they were watched: no event names them. A recursive scope has
 * none, since all files below its directories are found.
 */
async function madeIn(
  { directories: all, recursive }: WatchScope,
  sinceMs: number,
  directories = all,
): Promise<string[]> {
  const known = new Set(all);
  const madeInOne = async (directory: string): Promise<string[]> => {
    const place = await stat(directory).catch(() => undefined);
    if (place === undefined || !isLate({ modifiedMs: place.mtimeMs }, sinceMs)) return [];
    const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
    const below = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(directory, name));
    return below.filter((path) => !known.has(path));
  };
  return recursive ? [] : (await Promise.all(directories.map(madeInOne))).flat();
}

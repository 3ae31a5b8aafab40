import { type ContentChange, createContentMemory } from './content-memory.ts';
import { filesOf, readScope, type WatchTarget } from './scope.ts';

export interface WatchOptions {
  cwd: string;
  target: WatchTarget;
  /** Files that were modified after this time (of `Date.now()`) count as changed from the beginning. */
  sinceMs: number;
  /** Whether a generated file of this modification time was written by the user's own build command, and so is no news. */
  isOfBuild(modifiedMs: number): boolean;
  signal: AbortSignal;
  /** With the time (of `performance.now()`) of the first event. */
  onChange(files: string[], at: number): void;
  onError(message: string): void;
}

export interface Watcher extends AsyncDisposable {
  /** Looks again for what belongs to the program, when a change made that necessary; call it after each build. */
  refresh(sinceMs: number): Promise<void>;
}

/** Long enough for a save that is a truncate and a write, or for `save all` of an editor. */
const DEBOUNCE_MS = 25;
/** File times come from the kernel's coarse clock, which lags behind the precise one. */
const COARSE_CLOCK_MS = 10;

/** Reports changes of the content of source files. Resolves when everything is watched. */
export async function watchSources(options: WatchOptions): Promise<Watcher> {
  const ended = new AbortController();
  const signal = AbortSignal.any([options.signal, ended.signal]);
  const memory = createContentMemory();
  const pending = new Set<string>();
  let scope = await readScope(options.cwd, options.target, signal);
  let stale = false;
  let firstAt = 0;
  let timer: NodeJS.Timeout | undefined;

  // Imported here, as most commands of devloop watch nothing.
  const { watch } = await import('chokidar');
  const chokidar = watch(scope.directories, {
    ignoreInitial: true,
    atomic: false,
    ignored: (path) => scope.isOutside(path),
    ...(scope.recursive ? {} : { depth: 0 }),
  });
  chokidar.on('error', (error) => options.onError(error instanceof Error ? error.message : String(error)));
  chokidar.on('all', (event, path) => {
    if (!event.endsWith('Dir')) note(path);
  });
  await new Promise<void>((resolve) => chokidar.once('ready', resolve));
  await readAll(options.sinceMs);

  function note(path: string): void {
    if (!scope.counts(path) || signal.aborted) return;
    if (pending.size === 0) firstAt = performance.now();
    pending.add(path);
    clearTimeout(timer);
    timer = setTimeout(() => void flush(), DEBOUNCE_MS);
  }

  async function flush(): Promise<void> {
    const at = firstAt;
    const files = [...pending];
    pending.clear();
    const changed = await Promise.all(files.map(isNews));
    const news = files.filter((_, index) => changed[index]);
    if (news.length > 0 && !signal.aborted) options.onChange(news, at);
  }

  async function isNews(file: string): Promise<boolean> {
    const change = await memory.changeOf(file);
    stale ||= change?.structural === true;
    return change !== undefined && !isOwn(change);
  }

  /** Learns what the files hold, and reports those that were written after the build had begun. */
  async function readAll(sinceMs: number): Promise<void> {
    const files = (await filesOf(scope)).filter((file) => !memory.has(file));
    const changes = await Promise.all(files.map((file) => memory.changeOf(file)));
    const news = files.filter((_, index) => {
      const change = changes[index];
      return change && change.modifiedMs > sinceMs - COARSE_CLOCK_MS && !isOwn(change);
    });
    if (news.length === 0) return;
    // The list may be older than they are.
    stale = true;
    options.onChange(news, performance.now());
  }

  function isOwn(change: ContentChange): boolean {
    return change.generated && options.isOfBuild(change.modifiedMs);
  }

  return {
    async refresh(sinceMs) {
      if (!stale || signal.aborted) return;
      stale = false;
      const before = new Set(scope.directories);
      scope = await readScope(options.cwd, options.target, signal);
      const directories = scope.directories.filter((directory) => !before.has(directory));
      if (directories.length > 0) chokidar.add(directories);
      await readAll(sinceMs);
    },
    async [Symbol.asyncDispose]() {
      ended.abort();
      clearTimeout(timer);
      await chokidar.close();
    },
  };
}

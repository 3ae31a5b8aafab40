import type { FSWatcher } from 'chokidar';
import { sleep } from '../../async.ts';
import { messageOf } from '../../errors.ts';
import { type ContentChange, createContentMemory } from './content-memory.ts';
import { filesOf, readScope, type WatchScope, type WatchTarget } from './scope.ts';

export interface WatchOptions {
  cwd: string;
  target: WatchTarget;
  /** The scope, where it was read before; absent: it is read first. */
  firstScope?: Promise<WatchScope> | undefined;
  /** Files that were modified after this time (of `Date.now()`) count as changed from the start. */
  sinceMs: number;
  /** Whether a generated file with this modification time was written by the build command itself, and so is not a change. */
  isOfBuild(modifiedMs: number): boolean;
  signal: AbortSignal;
  /** `at`: the time of the first event, on the clock of `performance.now()`. */
  onChange(files: string[], at: number): void;
  onError(message: string): void;
}

export interface Watcher extends AsyncDisposable {
  /** Updates the list of watched directories, if a change made that necessary; call it after each build. */
  refresh(sinceMs: number): Promise<void>;
}

/** Long enough for a save that truncates and then writes, and for an editor's `save all`. */
const DEBOUNCE_MS = 25;
/** The times of files come from the kernel's coarse clock, which lags behind the precise one. */
const COARSE_CLOCK_MS = 10;

/** Reports changes of the content of source files. Resolves when everything is watched. */
export async function watchSources(options: WatchOptions): Promise<Watcher> {
  const ended = new AbortController();
  const signal = AbortSignal.any([options.signal, ended.signal]);
  const memory = createContentMemory();
  let scope = await (options.firstScope ?? readScope(options.cwd, options.target, signal));
  let stale = false;
  const note = inBatches(signal, async (files, at) => {
    const changes = await memory.changesIn(await scope.notIgnored(files));
    stale ||= changes.some(({ structural }) => structural);
    if (!signal.aborted) reportNews(changes, at, options);
  });
  const onPath = (path: string) => {
    if (scope.counts(path)) note(path);
  };
  const chokidar = await startChokidar(scope, onPath, options.onError);
  await readNewFiles(options.sinceMs);

  /** Remembers the content of files that were not watched before, and reports those that were written after the build had started. */
  async function readNewFiles(sinceMs: number): Promise<void> {
    const files = (await filesOf(scope)).filter((file) => !memory.has(file));
    const changes = await memory.changesIn(await scope.notIgnored(files));
    const late = changes.filter(({ modifiedMs }) => modifiedMs > sinceMs - COARSE_CLOCK_MS);
    // The list of files may be older than these.
    if (reportNews(late, performance.now(), options)) stale = true;
  }

  return {
    async refresh(sinceMs) {
      if (!stale || signal.aborted) return;
      stale = false;
      const before = new Set(scope.directories);
      scope = await readScope(options.cwd, options.target, signal);
      const directories = scope.directories.filter((directory) => !before.has(directory));
      if (directories.length > 0) chokidar.add(directories);
      await readNewFiles(sinceMs);
    },
    async [Symbol.asyncDispose]() {
      ended.abort();
      await chokidar.close();
    },
  };
}

/** Returns whether any change was worth reporting. */
function reportNews(
  changes: ContentChange[],
  at: number,
  { isOfBuild, onChange }: Pick<WatchOptions, 'isOfBuild' | 'onChange'>,
): boolean {
  const news = changes.filter(({ generated, modifiedMs }) => !(generated && isOfBuild(modifiedMs)));
  const files = news.map(({ file }) => file);
  if (files.length > 0) onChange(files, at);
  return files.length > 0;
}

async function startChokidar(
  scope: WatchScope,
  onPath: (path: string) => void,
  onError: (message: string) => void,
): Promise<FSWatcher> {
  // Imported here, since most commands of devloop watch nothing.
  const { watch } = await import('chokidar');
  const chokidar = watch(scope.directories, {
    ignoreInitial: true,
    atomic: false,
    ignored: (path) => scope.isOutside(path),
    ...(scope.recursive ? {} : { depth: 0 }),
  });
  chokidar.on('all', (event, path) => {
    if (!event.endsWith('Dir')) onPath(path);
  });
  chokidar.on('error', (error) => onError(messageOf(error)));
  await new Promise<void>((resolve) => chokidar.once('ready', resolve));
  return chokidar;
}

/** Collects paths until none has been added for a moment. `firstAt`: when the first one was. */
function inBatches(
  signal: AbortSignal,
  onBatch: (paths: string[], firstAt: number) => Promise<void>,
): (path: string) => void {
  const pending = new Set<string>();
  let lastAt = 0;

  async function collect(): Promise<void> {
    const firstAt = lastAt;
    for (let quietMs = 0; quietMs < DEBOUNCE_MS; quietMs = performance.now() - lastAt)
      if (!(await sleep(DEBOUNCE_MS - quietMs, signal))) return;
    const paths = [...pending];
    pending.clear();
    await onBatch(paths, firstAt);
  }

  return (path) => {
    lastAt = performance.now();
    pending.add(path);
    if (pending.size === 1) void collect();
  };
}

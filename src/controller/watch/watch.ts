import { sleep } from '../../async.ts';
import { type ContentChange, type ContentMemory, createContentMemory, isLate } from './content-memory.ts';
import { followDirectories } from './new-directories.ts';
import { both, filesOf, isGuess, readScope, type WatchScope, type WatchTarget } from './scope.ts';

export interface WatchOptions {
  cwd: string;
  target: WatchTarget;
  /** What was found if devloop has looked already; if absent, the scope is read first. */
  firstLook?: Promise<FirstLook> | undefined;
  /** Files that were modified after this time (of `Date.now()`) count as changed from the start. */
  sinceMs: number;
  /** Whether a generated file with this modification time was written by the build command itself, and so is not a change. */
  isOfBuild(modifiedMs: number): boolean;
  signal: AbortSignal;
  /** `at`: the time of the first event, on the clock of `performance.now()`. */
  onChange(files: string[], at: number): void;
  onError(message: string, hint?: string): void;
}

/** What will be watched, and what its files contained when they were read. */
export interface FirstLook {
  scope: WatchScope;
  memory: ContentMemory;
  read: ContentChange[];
}

export interface Watcher extends AsyncDisposable {
  /** What is watched at the moment. */
  readonly scope: WatchScope;
  /** Updates the list of watched directories, if a change made that necessary; call it after each build. */
  refresh(build: { sinceMs: number; succeeded: boolean }): Promise<void>;
  /** Reads all files now, and reports what has changed, also if no event has arrived yet. Resolves when that is reported. */
  look(): Promise<void>;
}

/** Long enough for a save that truncates and then writes, and for an editor's `save all`. */
const DEBOUNCE_MS = 25;

/**
 * Where any file can be a source, a new one counts only if it still exists after this time: many editors save by writing a temporary file
 * beside the source and renaming it.
 */
const LASTS_MS = 500;

/** Reads the files before they are watched, so that even the first change can be compared with what was there before. */
export async function lookAt(reading: Promise<WatchScope>): Promise<FirstLook> {
  const scope = await reading;
  const memory = createContentMemory(scope.sources?.structureOf);
  return { scope, memory, read: await memory.changesIn(await scope.notIgnored(await filesOf(scope))) };
}

/** Reports changes of the content of source files. Resolves when everything is watched. */
export async function watchSources(options: WatchOptions): Promise<Watcher> {
  const ended = new AbortController();
  const signal = AbortSignal.any([options.signal, ended.signal]);
  const first = await (options.firstLook ?? unread(readScope(options.cwd, options.target, signal)));
  const { memory } = first;
  let { scope } = first;
  let stale = false;
  /** Whether the list may be incomplete: the go tool leaves out what it cannot read, and whatever that imports. */
  let partial = isGuess(scope);
  // In turn: a change that one look has read, but not reported yet, is none for the next.
  const inTurn = createTurns();
  const look = (files: string[], at: number, counts = (_: ContentChange) => true): Promise<void> =>
    inTurn(async () => {
      if (files.length === 0 || signal.aborted) return;
      report((await memory.changesIn(await scope.notIgnored(files))).filter(counts), at);
    });
  const isFresh = (file: string): boolean => scope.recursive && !memory.has(file);
  const note = inBatches(signal, freshLater(isFresh, look, signal));
  const onPath = (path: string) => scope.counts(path) && note(path);
  const onBack = async (directories: string[]) => (await filesOf({ ...scope, directories })).forEach(note);
  const handlers = { onPath, onBack, onError: options.onError };
  const watched = await followDirectories(() => scope, handlers, { sinceMs: options.sinceMs, signal });
  report(await writtenSince(options.sinceMs, first), performance.now());

  /** After a structural change, the list of files may be out of date. */
  function report(changes: ContentChange[], at: number): void {
    stale ||= changes.some(({ structural }) => structural);
    if (!signal.aborted) reportNews(changes, at, options);
  }

  return {
    get scope() {
      return scope;
    },
    async refresh({ sinceMs, succeeded }) {
      if (!(stale || (partial && succeeded)) || signal.aborted) return;
      stale = false;
      const before = new Set(scope.directories);
      const fromMs = Date.now();
      const listed = await readScope(options.cwd, options.target, signal);
      partial = !succeeded || isGuess(listed);
      scope = partial ? both(scope, listed) : listed;
      const more = scope.directories.filter((directory) => !before.has(directory));
      void watched.add(more, fromMs);
      // The content of files that were not watched before is remembered.
      const files = (await filesOf(scope)).filter((file) => !memory.has(file));
      await look(files, performance.now(), (change) => isLate(change, sinceMs));
    },
    look: async () => await look(await allFiles(first.memory, scope), performance.now()),
    async [Symbol.asyncDispose]() {
      ended.abort();
      await watched[Symbol.asyncDispose]();
    },
  };
}

/** The files that count now, and those that did when they were last read, and may be gone. */
async function allFiles(memory: ContentMemory, scope: WatchScope): Promise<string[]> {
  return [...new Set([...memory.files().filter(scope.counts), ...(await filesOf(scope))])];
}

/** Runs one piece of work after the other. */
function createTurns(): (work: () => Promise<void>) => Promise<void> {
  let last = Promise.resolve();
  return (work) => {
    const next = last.then(work);
    last = next.catch(() => {});
    return next;
  };
}

type Look = (files: string[], at: number) => Promise<void>;

/** Looks at new files later than at the others. */
function freshLater(isFresh: (file: string) => boolean, look: Look, signal: AbortSignal): Look {
  return async (files, at) => {
    const fresh = files.filter(isFresh);
    if (fresh.length > 0) void sleep(LASTS_MS, signal).then(() => look(fresh, at));
    await look(
      files.filter((file) => !fresh.includes(file)),
      at,
    );
  };
}

/** What was written after the build had started: before the first look, or between the first look and now, when everything is watched. */
async function writtenSince(sinceMs: number, { scope, memory, read }: FirstLook): Promise<ContentChange[]> {
  const known = new Set(read.map(({ file }) => file));
  const files = new Set([...known, ...(await filesOf(scope))]);
  const changes = await memory.changesIn(await scope.notIgnored([...files]));
  const since = changes.filter((change) => known.has(change.file) || isLate(change, sinceMs));
  const again = new Set(since.map(({ file }) => file));
  const before = read.filter((one) => isLate(one, sinceMs) && !again.has(one.file));
  return [...before, ...since];
}

async function unread(reading: Promise<WatchScope>): Promise<FirstLook> {
  const scope = await reading;
  return { scope, memory: createContentMemory(scope.sources?.structureOf), read: [] };
}

function reportNews(
  changes: ContentChange[],
  at: number,
  { isOfBuild, onChange }: Pick<WatchOptions, 'isOfBuild' | 'onChange'>,
): void {
  const news = changes.filter(({ generated, modifiedMs }) => !(generated && isOfBuild(modifiedMs)));
  const files = news.map(({ file }) => file);
  if (files.length > 0) onChange(files, at);
}

/** Collects paths until none has been added for a moment. `firstAt`: when the first path was added. */
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

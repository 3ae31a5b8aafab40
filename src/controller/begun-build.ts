import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { runTool } from '../machine/tool.ts';
import { verbose } from './build-progress.ts';
import { goEnvironment } from './go/build-command.ts';
import { unchangedSources } from './go/built-from.ts';
import type { SourceSet } from './go/sources.ts';
import { type KnownBuild, type Note, readNote, settingsOf, stampOf, textOf } from './kept-note.ts';
import { restoreKept } from './programs.ts';

/**
 * The build of this checkout's last session, started again before devloop knows what to build now: the go tool needs half a second to find
 * that nothing has changed, and devloop needs as long to find out what to build. The begun build writes a file of its own, so it does no
 * harm if this session needs another build.
 */
export interface BegunBuild extends AsyncDisposable {
  /** Whether `build` is the build that has begun. If not, the begun build is ended. */
  isOf(build: KnownBuild): boolean;
  /** The packages of that build's program, if they are known without the go tool: import path -> directory. */
  packagesOf(build: KnownBuild): ReadonlyMap<string, string> | undefined;
  /** The user's GOFLAGS, if they are known without the go tool. */
  goFlags: string | undefined;
  /** Resolves when the program is at `binary`; undefined if the build or the move failed. */
  moveTo(
    binary: string,
    io: { signal: AbortSignal; onErrors(text: string): void },
  ): Promise<Finished | undefined>;
}

/** When a build began, and how long it took. */
export interface Finished {
  fromMs: number;
  ms: number;
  /** What the program was built from, if none of it has changed since: then the kept program was used, and no go tool was run. */
  unchanged?: SourceSet | undefined;
}

/** Starts again the build that made the kept program; undefined if that build is not known. */
export async function beginBuild(kept: string): Promise<BegunBuild | undefined> {
  const note = await readNote(kept);
  if (note === undefined) return undefined;
  const file = `${kept}.${process.pid}.begun`;
  const fromMs = Date.now();
  const sources = await unchangedSince(note, kept);
  await restoreKept(kept, file);
  const unchanged = existsSync(file) ? sources : undefined;
  const aborting = new AbortController();
  let printed = '';
  let listener = (text: string): void => {
    printed += text;
  };
  const ended =
    unchanged !== undefined
      ? Promise.resolve({ isBuilt: true, ms: Date.now() - fromMs })
      : runNoted(note, file, { signal: aborting.signal, onErrors: (text) => listener(text) });
  return {
    isOf(build) {
      const isSame = textOf(build) === textOf(note);
      if (!isSame) aborting.abort();
      return isSame;
    },
    packagesOf: (build) => (textOf(build) === textOf(note) ? unchanged?.packages : undefined),
    goFlags: unchanged && note.from?.goFlags,
    async moveTo(binary, { signal, onErrors }) {
      onErrors(printed);
      listener = onErrors;
      signal.addEventListener('abort', () => aborting.abort(), { once: true });
      const { isBuilt, ms } = await ended;
      if (!isBuilt) return undefined;
      // The session's directory may be on another file system.
      return await rename(file, binary).then(
        () => ({ fromMs, ms, unchanged }),
        () => undefined,
      );
    },
    async [Symbol.asyncDispose]() {
      aborting.abort();
      await ended;
      await rm(file, { force: true }).catch(() => {});
    },
  };
}

async function unchangedSince(note: Note, kept: string): Promise<SourceSet | undefined> {
  const { from } = note;
  if (from == null || typeof from.goFlags !== 'string') return undefined;
  if (from.program !== (await stampOf(kept))) return undefined;
  return unchangedSources(from.sources, settingsOf(note));
}

async function runNoted(
  { cwd, command, output }: KnownBuild,
  file: string,
  options: { signal: AbortSignal; onErrors(text: string): void },
): Promise<{ isBuilt: boolean; ms: number }> {
  const start = Date.now();
  // A go tool that is interrupted while it loads packages does not remove its work directory. So it gets a directory that is removed here.
  const work = `${file}.work`;
  try {
    await mkdir(work, { recursive: true });
    const env = { GOTMPDIR: work, ...goEnvironment() };
    const { code } = await runTool(verbose(command.with(output, file)), { cwd, env, ...options });
    return { isBuilt: code === 0, ms: Date.now() - start };
  } catch {
    return { isBuilt: false, ms: 0 };
  } finally {
    await rm(work, { recursive: true, force: true }).catch(() => {});
  }
}

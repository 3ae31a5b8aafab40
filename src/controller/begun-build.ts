import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { otherWriter } from '../machine/own-files.ts';
import { runTool } from '../machine/tool.ts';
import { isGoBuild, verbose } from './build-progress.ts';
import { goEnvironment } from './go/build-command.ts';
import { type BuiltFrom, builtFrom, flagsState, unchangedSources } from './go/built-from.ts';
import type { SourceSet } from './go/sources.ts';
import { readGoFlags } from './go/toolchain.ts';
import { NOTE, restoreKept } from './programs.ts';

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

/** A command of the go tool that builds a program. */
export interface KnownBuild {
  cwd: string;
  /** The word at `output` is the program's file. */
  command: string[];
  output: number;
}

/** What is noted about the kept program. */
interface Note extends KnownBuild {
  /** What the program was built from; absent if that is not known. */
  from?: (GoFlags & { program: string; sources: BuiltFrom }) | undefined;
}

/** The user's GOFLAGS, and the state of the settings that they were read from. */
interface GoFlags {
  goFlags: string;
  flagsState: string;
}

/** Notes how the kept program is built. The note only saves time, so a failure to write it is ignored. */
export async function noteBuild(kept: string, build: KnownBuild): Promise<void> {
  if (isGoBuild(build.command)) await writeNote(kept, known(build));
}

/** Flags of the go tool through which a build depends on further files or programs. devloop does not know what those depend on. */
const NAMES_FILES = /(?:^|[\s'"])--?(?:modfile|overlay|pgo|toolexec)\b/;

/**
 * Notes what the kept program was built from, if it is the program in `file`, whose build began at `fromMs`. A failure is ignored, as in
 * `noteBuild`.
 */
export async function noteSources(
  kept: string,
  program: { file: string; fromMs: number },
  sources: SourceSet,
): Promise<void> {
  const note = await readNote(kept);
  const stamp = await stampOf(kept);
  if (note === undefined || stamp === undefined || stamp !== (await stampOf(program.file))) return;
  const flags = await goFlagsNow(note);
  const isCertain = flags !== undefined && !NAMES_FILES.test([flags.goFlags, ...note.command].join(' '));
  const from = isCertain ? builtFrom(sources, settingsOf(note), program.fromMs) : undefined;
  await writeNote(kept, {
    ...known(note),
    from: from && flags && { ...flags, program: stamp, sources: from },
  });
}

/**
 * The user's GOFLAGS. Runs the go tool only if its settings have changed since the last note: a note is written after each build, just when
 * the new controller starts.
 */
async function goFlagsNow({ cwd, from }: Note): Promise<GoFlags | undefined> {
  const now = flagsState(process.env);
  if (now === undefined) return undefined;
  if (from != null && from.flagsState === now && typeof from.goFlags === 'string')
    return { goFlags: from.goFlags, flagsState: now };
  const goFlags = await readGoFlags(cwd, {}).catch(() => undefined);
  return goFlags === undefined ? undefined : { goFlags, flagsState: now };
}

function settingsOf({ cwd }: KnownBuild): { cwd: string; env: NodeJS.ProcessEnv } {
  return { cwd, env: process.env };
}

/** A value that is equal for all names of one file; undefined if there is no file. */
async function stampOf(file: string): Promise<string | undefined> {
  const found = await stat(file, { bigint: true }).catch(() => undefined);
  return found && [found.ino, found.size, found.mtimeNs].join(' ');
}

async function writeNote(kept: string, note: Note): Promise<void> {
  if (otherWriter(kept) !== undefined) return;
  await writeFile(noteOf(kept), JSON.stringify(note), { mode: 0o600 }).catch(() => {});
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

function noteOf(kept: string): string {
  return kept + NOTE;
}

/** The build without the name of the program that it makes. */
function known({ cwd, command, output }: KnownBuild): KnownBuild {
  return { cwd, command: command.with(output, ''), output };
}

function textOf(build: KnownBuild): string {
  return JSON.stringify(known(build));
}

/** Ignores a note that other users can write to, because devloop runs the command in it. */
async function readNote(kept: string): Promise<Note | undefined> {
  try {
    if (otherWriter(noteOf(kept)) !== undefined) return undefined;
    const note = JSON.parse(await readFile(noteOf(kept), 'utf8')) as Note;
    return isGoBuild(note.command) && note.command[note.output] !== undefined ? note : undefined;
  } catch {
    return undefined;
  }
}

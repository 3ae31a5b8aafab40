import { readFile, writeFile } from 'node:fs/promises';
import { otherWriter } from '../../machine/own-files.ts';
import { NOTE, stampOf } from '../kept-program.ts';
import type { KnownBuild, Prepared, ProgramIo, Sources, UpToDate } from '../language.ts';
import { isGoBuild } from './build-progress.ts';
import { type BuiltFrom, builtFrom, flagsState, unchangedSources } from './built-from.ts';
import { isReconcileOverlay } from './overlay.ts';
import { watchedSources } from './program-sources.ts';
import { listSources, type SourceSet } from './source-set.ts';
import { readGoFlags } from './toolchain.ts';

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

/** The user's GOFLAGS, and the program of the last session. Runs the go tool only if the settings of the go tool have changed. */
export async function prepareGo(root: string, kept: string, io: ProgramIo): Promise<Prepared> {
  const upToDate = await readUpToDate(kept);
  if (upToDate !== undefined) return { userFlags: Promise.resolve(upToDate.goFlags), upToDate };
  const userFlags = readGoFlags(root, io);
  // Whoever needs the flags gets the error.
  userFlags.catch(() => {});
  return { userFlags };
}

/** Undefined if something has changed, or if that is not certain. */
export async function readUpToDate(kept: string): Promise<(UpToDate & { goFlags: string }) | undefined> {
  const note = await readNote(kept);
  const { from } = note ?? {};
  if (note === undefined || from == null || typeof from.goFlags !== 'string') return undefined;
  const fromMs = Date.now();
  if (from.program !== (await stampOf(kept))) return undefined;
  const set = unchangedSources(from.sources, settingsOf(note));
  if (set === undefined) return undefined;
  return {
    isMadeBy: (build) => textOf(note) === textOf(build),
    program: from.program,
    sources: programSources(set, note.cwd),
    packages: set.packages,
    goFlags: from.goFlags,
    fromMs,
  };
}

/** Asks the go tool what a package is built from. */
export function sourcesOf(
  cwd: string,
  program: { goPackage: string; flags?: string[] },
): (signal: AbortSignal) => Promise<Sources> {
  return async (signal) => programSources(await listSources(cwd, program, signal), cwd);
}

function programSources(listed: SourceSet | undefined, cwd: string): Sources {
  return {
    ...watchedSources(listed, cwd),
    note: async (kept, program) => {
      if (listed !== undefined) await noteSources(kept, program, listed);
    },
  };
}

/** Notes how the kept program is built, if it was built in another way before. The note only saves time, so a failure to write it is ignored. */
export async function noteBuild(kept: string, build: KnownBuild): Promise<void> {
  if (!isGoBuild(build.command)) return;
  const noted = await readNote(kept);
  if (noted === undefined || textOf(noted) !== textOf(build)) await writeNote(kept, known(build));
}

/** Flags of the go tool through which a build depends on further files or programs. devloop does not know what those depend on. */
const NAMES_FILES = /(?:^|[\s'"])--?(?:modfile|overlay|pgo|toolexec)\b/;

/**
 * Notes what the kept program was built from, if it is the program in `file`, whose build began at `fromMs`. A failure is ignored, as in
 * `noteBuild`.
 */
async function noteSources(
  kept: string,
  program: { file: string; fromMs: number },
  sources: SourceSet,
): Promise<void> {
  const note = await readNote(kept);
  const stamp = await stampOf(kept);
  if (note === undefined || stamp === undefined || stamp !== (await stampOf(program.file))) return;
  const flags = await goFlagsNow(note);
  const command = note.command.filter((word) => !isReconcileOverlay(word));
  const isCertain = flags !== undefined && !NAMES_FILES.test([flags.goFlags, ...command].join(' '));
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

/** What the go tool is run with for such a build. */
function settingsOf({ cwd }: KnownBuild): { cwd: string; env: NodeJS.ProcessEnv } {
  return { cwd, env: process.env };
}

async function writeNote(kept: string, note: Note): Promise<void> {
  if (otherWriter(kept) !== undefined) return;
  await writeFile(noteOf(kept), JSON.stringify(note), { mode: 0o600 }).catch(() => {});
}

function noteOf(kept: string): string {
  return kept + NOTE;
}

/** The build without the name of the program that it makes. */
function known({ cwd, command, output }: KnownBuild): KnownBuild {
  return { cwd, command: command.with(output, ''), output };
}

/** Equal for builds that differ only in the name of the program. */
function textOf(build: KnownBuild): string {
  return JSON.stringify(known(build));
}

/** Ignores a note that other users can write to, because devloop runs the program that it describes. */
async function readNote(kept: string): Promise<Note | undefined> {
  try {
    if (otherWriter(noteOf(kept)) !== undefined) return undefined;
    const note = JSON.parse(await readFile(noteOf(kept), 'utf8')) as Note;
    return isGoBuild(note.command) && note.command[note.output] !== undefined ? note : undefined;
  } catch {
    return undefined;
  }
}

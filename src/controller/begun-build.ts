import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { otherWriter } from '../machine/own-files.ts';
import { runTool, type ToolResult } from '../machine/tool.ts';
import { isGoBuild, verbose } from './build-progress.ts';
import { goEnvironment } from './go/build-command.ts';
import { NOTE, restoreKept } from './programs.ts';

/**
 * The build of a checkout's last session, begun again before devloop knows what this session has to build: the go tool takes half a second
 * to find that nothing has changed, and devloop as long to find out what to build. It makes a file of its own, so it is of no consequence
 * where another build is wanted.
 */
export interface BegunBuild extends AsyncDisposable {
  /** Whether it is this build. Ends it otherwise. */
  isOf(build: KnownBuild): boolean;
  /** Resolves when the program is at `binary`, with when and how long it was built; undefined where it failed. */
  moveTo(
    binary: string,
    io: { signal: AbortSignal; onErrors(text: string): void },
  ): Promise<{ fromMs: number; ms: number } | undefined>;
}

/** A command of the go tool, without the name of the program that it makes. */
export interface KnownBuild {
  cwd: string;
  /** The word at `output` is the program's file. */
  command: string[];
  output: number;
}

/** Notes what makes the kept program. This only saves time, so it may fail. */
export async function noteBuild(kept: string, build: KnownBuild): Promise<void> {
  if (!isGoBuild(build.command) || otherWriter(kept) !== undefined) return;
  await writeFile(noteOf(kept), textOf(build), { mode: 0o600 }).catch(() => {});
}

/** Begins the build that made the kept program; undefined where none is known. */
export async function beginBuild(kept: string): Promise<BegunBuild | undefined> {
  const known = await readNote(kept);
  if (known === undefined) return undefined;
  const { cwd, command, output } = known;
  const file = `${kept}.${process.pid}.begun`;
  await restoreKept(kept, file);
  const aborting = new AbortController();
  const fromMs = Date.now();
  let printed = '';
  let listener = (text: string): void => {
    printed += text;
  };
  const run = runTool(verbose(command.with(output, file)), {
    cwd,
    env: goEnvironment(),
    signal: aborting.signal,
    onErrors: (text) => listener(text),
  });
  const ended = run.then(
    ({ code }: ToolResult) => ({ isBuilt: code === 0, ms: Date.now() - fromMs }),
    () => ({ isBuilt: false, ms: 0 }),
  );
  return {
    isOf(build) {
      const isSame = textOf(build) === textOf(known);
      if (!isSame) aborting.abort();
      return isSame;
    },
    async moveTo(binary, { signal, onErrors }) {
      onErrors(printed);
      listener = onErrors;
      signal.addEventListener('abort', () => aborting.abort(), { once: true });
      const { isBuilt, ms } = await ended;
      if (!isBuilt) return undefined;
      // The session's directory may be on another file system.
      return await rename(file, binary).then(
        () => ({ fromMs, ms }),
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

function noteOf(kept: string): string {
  return kept + NOTE;
}

function textOf({ cwd, command, output }: KnownBuild): string {
  return JSON.stringify({ cwd, command: command.with(output, ''), output });
}

/** Not where others can write: the command is run. */
async function readNote(kept: string): Promise<KnownBuild | undefined> {
  try {
    if (otherWriter(noteOf(kept)) !== undefined) return undefined;
    const known = JSON.parse(await readFile(noteOf(kept), 'utf8')) as KnownBuild;
    return isGoBuild(known.command) ? known : undefined;
  } catch {
    return undefined;
  }
}

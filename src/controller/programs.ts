import { constants } from 'node:fs';
import { copyFile, link, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type BuildOutcome, runBuild } from './build.ts';

export interface ProgramPlan {
  cwd: string;
  build: string[] | undefined;
  run: string[];
  stateFile: string;
  /** Where the newest program stays for the next session: the go tool does not link anew what it finds up to date. */
  keptProgram?: string | undefined;
}

/** A built program. */
export interface Program {
  run: string[];
  content: string | undefined;
  /** Ours to remove when another has taken its place. */
  file: string | undefined;
}

export type Built = BuildOutcome & { program: Program };

/**
 * A build that names the program by `-o` gets a new file each time, so that it neither disturbs the running program nor
 * leaves half of one behind; any other build writes where it wants. Without a build, every change is a new program.
 */
export async function buildProgram(plan: ProgramPlan, build: number, signal: AbortSignal): Promise<Built> {
  const command = plan.build;
  if (command === undefined)
    return {
      ok: true,
      ms: 0,
      content: undefined,
      program: { run: plan.run, content: undefined, file: undefined },
    };
  const output = command.indexOf('-o') + 1;
  const named = output > 0 && command[output] === plan.run[0];
  const binary = named
    ? join(dirname(plan.stateFile), `controller-${build}`)
    : resolve(plan.cwd, plan.run[0]!);
  const kept = named ? plan.keptProgram : undefined;
  if (kept !== undefined && build === 0) await layOutKept(kept, binary);
  const outcome = await runBuild({
    command: named ? command.with(output, binary) : command,
    cwd: plan.cwd,
    binary,
    signal,
  });
  if (kept !== undefined && outcome.ok) await keep(binary, kept);
  if (kept !== undefined && build === 0) await forgetOld(dirname(kept)).catch(() => {});
  const run = named ? plan.run.with(0, binary) : plan.run;
  const content = outcome.ok ? outcome.content : undefined;
  return { ...outcome, program: { run, content, file: named ? binary : undefined } };
}

/**
 * A second name for the file costs nothing, a copy of a manager a tenth of a second. The go tool may write into the file that it
 * finds, so a program that has further names, which a session may be running, is copied all the same.
 */
async function layOutKept(kept: string, binary: string): Promise<void> {
  try {
    const { nlink } = await stat(kept);
    if (nlink === 1) await link(kept, binary);
    else await copyFile(kept, binary, constants.COPYFILE_FICLONE);
  } catch {
    // The build makes it.
  }
}

/** A second name for the file: programs are never written to again once they are built. It only saves time, so it may fail. */
async function keep(binary: string, kept: string): Promise<void> {
  const fresh = `${kept}.${process.pid}`;
  try {
    await mkdir(dirname(kept), { recursive: true, mode: 0o700 });
    await link(binary, fresh);
    await rename(fresh, kept);
  } catch {
    // The next session links anew.
  } finally {
    // A rename onto another name of the same file, which a program that is up to date is, does nothing.
    await rm(fresh, { force: true });
  }
}

/** Checkouts come and go, and a manager may have a hundred megabytes. To link one anew takes seconds. Once a session is enough. */
const KEPT_MS = 30 * 24 * 3600 * 1000;

async function forgetOld(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const file = join(directory, name);
    const { mtimeMs } = await stat(file);
    if (Date.now() - mtimeMs > KEPT_MS) await rm(file);
  }
}

export async function removeProgram(program: Program | undefined): Promise<void> {
  if (program?.file !== undefined) await rm(program.file, { force: true });
}

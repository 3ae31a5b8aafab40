import { constants, existsSync } from 'node:fs';
import { copyFile, link, mkdir, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { NOTE } from '../checkout/kept-program.ts';
import { otherWriter } from '../machine/own-files.ts';

/**
 * A program that can run as the controller. The newest program of a checkout is kept for the next session: the go tool links nothing when
 * the program that it finds is up to date. A kept program that other users can write to is not used, because devloop runs it.
 */
export interface Program {
  run: string[];
  /** A value that is equal for programs that differ only in what they were built from; undefined when unknown. */
  content: string | undefined;
  /** The id that is shown: `3f2a91c 10:14:58 +dirty`. */
  build: string;
  /** When its build began, on the clock of Date.now(); undefined for a program that is not built here. */
  fromMs: number | undefined;
  /** The program's file, which is removed when another program has replaced it; undefined for a file that is not devloop's. */
  file: string | undefined;
}

/**
 * Puts the kept program where the build will write. A hard link costs nothing, a copy of a manager a tenth of a second. But the go tool may
 * write into the file, so a file with several names is copied: another session may be running it.
 */
export async function restoreKept(kept: string, binary: string): Promise<void> {
  try {
    if (otherWriter(kept) !== undefined) return;
    const { nlink } = await stat(kept);
    if (nlink === 1) await link(kept, binary);
    else await copyFile(kept, binary, constants.COPYFILE_FICLONE);
  } catch {
    // Without a kept program, the build makes the file.
  }
}

/** Keeps a program under a second name: built programs are never written to again. This only saves time, so a failure is ignored. */
export async function keepProgram(binary: string, kept: string): Promise<void> {
  const fresh = `${kept}.${process.pid}`;
  try {
    if (otherWriter(kept) !== undefined) return;
    await mkdir(dirname(kept), { recursive: true, mode: 0o700 });
    await link(binary, fresh);
    await rename(fresh, kept);
  } catch {
    // Without a kept program, the next session only links again.
  } finally {
    // `rename` does nothing if both names are the same file already, as after a build that was up to date.
    await rm(fresh, { force: true }).catch(() => {});
  }
}

const KEPT_MS = 30 * 24 * 3600 * 1000;

/** Removes kept programs of checkouts that are gone, or have not been built for a month: a manager can take a hundred megabytes. */
export async function removeOldPrograms(directory: string): Promise<void> {
  const names = await readdir(directory);
  const gone = await goneCheckouts(directory, names);
  for (const name of names) {
    const file = join(directory, name);
    const { mtimeMs } = await stat(file);
    const isGone = gone.some((kept) => name === kept || name.startsWith(`${kept}.`));
    if (isGone || Date.now() - mtimeMs > KEPT_MS) await rm(file, { recursive: true, force: true });
  }
}

/** The names of the kept programs whose note names a build directory that is gone. */
async function goneCheckouts(directory: string, names: string[]): Promise<string[]> {
  const notes = names.filter((name) => name.endsWith(NOTE));
  const gone = notes.map(async (name) => {
    try {
      const { cwd } = JSON.parse(await readFile(join(directory, name), 'utf8')) as { cwd: string };
      return existsSync(cwd) ? [] : [name.slice(0, -NOTE.length)];
    } catch {
      return [];
    }
  });
  return (await Promise.all(gone)).flat();
}

/**
 * The path to start so that a program finds this name as its argument 0; the program itself if no name is wanted. Each program has a link
 * of its own: a shared link could point to a newer program by the time a process that was made for the older one begins.
 */
export async function linkAs(name: string | undefined, binary: string): Promise<string> {
  if (name === undefined) return binary;
  const directory = linksTo(binary);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const link = join(directory, name);
  await rm(link, { force: true });
  await symlink(binary, link);
  return link;
}

function linksTo(binary: string): string {
  return `${binary}.as`;
}

/** A file that cannot be removed here is removed with the session's directory. */
export async function removeProgram({ file }: Program): Promise<void> {
  if (file === undefined) return;
  for (const one of [file, linksTo(file)]) await rm(one, { recursive: true, force: true }).catch(() => {});
}

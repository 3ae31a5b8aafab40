import { constants } from 'node:fs';
import { link, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isFile } from '../checkout/files.ts';
import { AGAIN, DevloopError } from '../errors.ts';
import { requireWithin } from '../machine/own-files.ts';
import type { ReviewRecord } from './record.ts';

const ENDING = '.ndjson';

/** Saved sets belong to the repository, so that its tests can use them. */
export function setFile(checkout: string, name: string): string {
  return join(setsDirectory(checkout), `${name}${ENDING}`);
}

/** The names in alphabetical order. */
export async function setNames(checkout: string): Promise<string[]> {
  const files = await readdir(setsDirectory(checkout)).catch(() => []);
  const names = files.filter((file) => file.endsWith(ENDING)).map((file) => basename(file, ENDING));
  // Commands accept no other names.
  const named = names.filter((name) => /^[A-Za-z0-9][\w.-]{0,99}$/.test(name));
  // A link can lead to a pipe or a device, which may never end.
  return named.filter((name) => isFile(setFile(checkout, name))).sort();
}

function setsDirectory(checkout: string): string {
  return join(checkout, 'testdata', 'reviews');
}

/**
 * Writes a set as a whole, or not at all. Keys are in a stable order, so that a diff shows what changed. Throws 'review.exists' if a set of
 * this name exists, unless `replaces` is set, and 'files.not-written' if the file is outside of the checkout. Resolves to the set's file.
 */
export async function writeSet(
  checkout: string,
  name: string,
  { records, replaces }: { records: ReviewRecord[]; replaces: boolean },
): Promise<string> {
  const file = setFile(checkout, name);
  const unfinished = `${file}.${process.pid}`;
  await requireWithin(checkout, file);
  await mkdir(dirname(file), { recursive: true });
  const { O_CREAT, O_EXCL, O_WRONLY } = constants;
  try {
    await using handle = await open(unfinished, O_CREAT | O_EXCL | O_WRONLY, 0o644);
    await handle.writeFile(records.map((record) => `${JSON.stringify(sorted(record))}\n`).join(''));
    if (replaces) await rename(unfinished, file);
    else await linkNew(unfinished, file);
  } finally {
    // A file that is left over does no harm, and a failure to remove it must not hide that the set is saved.
    await rm(unfinished, { force: true }).catch(() => {});
  }
  return file;
}

/** Lets only one of two processes save, even if both try at the same moment. */
async function linkNew(unfinished: string, file: string): Promise<void> {
  await link(unfinished, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
    throw new DevloopError('review.exists', `${file} exists.`, {
      hint: `To replace it: ${AGAIN} --update`,
      cause: error,
    });
  });
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}

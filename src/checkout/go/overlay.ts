import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { otherWriter } from '../../machine/own-files.ts';
import { builtFile } from '../../machine/own-program.ts';
import { setsFlag } from './build-command.ts';
import { directives } from './go-mod.ts';

declare const DEVLOOP_VERSION: string | undefined;

/** Works with every controller-runtime whose reconcilers get a context. */
const BASE = { name: 'zz_devloop.go', since: 7 };
/** Adds what controller-runtime puts into that context only since this version. */
const IDS = { name: 'zz_devloop_ids.go', since: 14 };

/** The go tool accepts an overlay that replaces nothing. */
const NOTHING = '{"Replace":{}}';

export interface Tagged {
  /** The directory of the module, in which the package is built. */
  directory: string;
  /** The package in it: './cmd'. */
  package: string;
  /** The value of GOFLAGS. */
  userFlags: string;
}

/**
 * The flag with which `go build` adds to a program what tells devloop which reconcile makes each of its API calls
 * (docs/adr/0041-reconciles-of-calls.md). Undefined if that cannot work. The flag is the same in each session until go.mod changes. `base`: the
 * file beside which those that it names are written, if `isWritten`.
 */
export async function reconcileOverlay(
  { directory, package: goPackage, userFlags }: Tagged,
  base: string,
  isWritten: boolean,
): Promise<string | undefined> {
  if (setsFlag(userFlags, 'overlay') || otherWriter(base) !== undefined) return undefined;
  const goMod = await readFile(join(directory, 'go.mod'), 'utf8').catch(() => '');
  const names = filesFor(goMod);
  const isTaken = names.some((name) => existsSync(join(directory, goPackage, name)));
  if (names.length === 0 || isTaken) return undefined;
  // The go tool reads a relative path as relative to its own directory, which is not the one here if that is a symbolic link.
  const added = await Promise.all(names.map(source));
  const files = added.map((text) => `${base}.${hashOf(text)}.go`);
  const overlay = JSON.stringify({
    Replace: Object.fromEntries(names.map((name, at) => [join(goPackage, name), files[at]])),
  });
  const vendored = await readFile(join(directory, 'vendor/modules.txt'), 'utf8').catch(() => '');
  const state = JSON.stringify([overlay, goMod, vendored, ...added]);
  const file = `${base}${SUFFIX}${hashOf(state)}`;
  if (isWritten && !(await keepAll([...files, file], [...added, overlay]))) return undefined;
  return `${FLAG}${file}`;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, LENGTH);
}

const FLAG = '-overlay=';
const SUFFIX = '.overlay-';
const LENGTH = 16;
const OWN = new RegExp(`^${FLAG}.*\\${SUFFIX}[0-9a-f]{${LENGTH}}$`, 's');

/** Whether a word of a build command is a flag of `reconcileOverlay`. Its value alone decides what it adds to the program. */
export function isReconcileOverlay(word: string): boolean {
  return OWN.test(word);
}

/**
 * A program that links a part of controller-runtime can lack modules that the rest of it needs. What the go tool says then names no file,
 * and is the same for a go.mod that is untidy without devloop; then the next build says it again.
 */
const COMPLAINT = /zz_devloop|^go: updates to go\.(?:mod|sum|work) needed/;

/**
 * Makes this build command add nothing any more, in this session and in later ones, if its output shows that what it adds does not compile.
 * Returns the compiler's complaint about it.
 */
export async function takeOut(command: string[], output: string): Promise<string | undefined> {
  const flag = command.find(isReconcileOverlay);
  const complaint = output.split('\n').find((line) => COMPLAINT.test(line));
  if (flag === undefined || complaint === undefined) return undefined;
  const file = flag.slice(FLAG.length);
  if ((await readFile(file, 'utf8')) === NOTHING) return undefined;
  await writeFile(file, NOTHING);
  return complaint.replace(/; to update it:$/, '').trim();
}

async function keepAll(files: string[], texts: string[]): Promise<boolean> {
  const kept = await Promise.all(files.map((file, at) => keep(file, texts[at]!)));
  return !kept.includes(false);
}

/** Writes the file, unless it is there or was emptied by `takeOut`. Its time keeps it from being removed as old. */
async function keep(file: string, text: string): Promise<boolean> {
  try {
    const before = await readFile(file, 'utf8').catch(() => '');
    if (before === text || before === NOTHING) {
      await utimes(file, new Date(), new Date());
    } else {
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await writeFile(file, text, { mode: 0o600 });
    }
    return true;
  } catch {
    return false;
  }
}

/** The files for the controller-runtime that a go.mod names; none without it. */
function filesFor(goMod: string): string[] {
  const all = directives(goMod).filter((words) => words[1] === 'sigs.k8s.io/controller-runtime');
  const required = all.find(([verb]) => verb === 'require');
  if (required === undefined) return [];
  // A directory that replaces it has no version; its sources are most likely new.
  const version = all.find(([verb]) => verb === 'replace')?.at(-1) ?? required[2] ?? '';
  const [, minor = Number.POSITIVE_INFINITY] = /^v0\.(\d+)\./.exec(version) ?? [];
  return [BASE, IDS].filter(({ since }) => Number(minor) >= since).map(({ name }) => name);
}

/** The build copies these files to the program, without the extension that would make them a Go package of whoever installs devloop. */
async function source(name: string): Promise<string> {
  return typeof DEVLOOP_VERSION === 'string'
    ? (await builtFile(`${name}.txt`)).toString()
    : await readFile(join(import.meta.dirname, 'overlay', name), 'utf8');
}

import { type Dirent, readdirSync, readFileSync, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';

/** A file that was read. */
export interface SourceText {
  path: string;
  text: string;
}

const SKIPPED_DIRECTORIES = new Set(
  'vendor node_modules bin dist target testdata test tests e2e fixtures third_party hack docs'.split(' '),
);
const MAX_FILES = 8000;
/** A home directory that is a git repository has more; no checkout does. */
export const MAX_DIRECTORIES = 10_000;
/** Larger files are generated, or data. */
const MAX_BYTES = 1_000_000;
/** A CRD can be as large as the request that creates it, 3 MiB, and one file can hold several. */
const MAX_MANIFEST_BYTES = 10_000_000;
const AT_ONCE = 32;

/**
 * A checkout as one command sees it: each directory and each file is read once, when something is asked about it for the first time. Reading
 * is synchronous: the files are small, and for one, a promise takes longer than the file.
 */
export class Checkout {
  readonly root: string;
  readonly #entries = new Map<string, Dirent[]>();
  readonly #texts = new Map<string, string>();
  readonly #answers = new Map<unknown, unknown>();

  constructor(root: string) {
    this.root = root;
  }

  /** The paths of the files below a directory with a wanted name, except tests, and those in directories that hold no sources. */
  files(isWanted: (name: string) => boolean, below = this.root): string[] {
    const found: string[] = [];
    const queue = [below];
    for (const [at, directory] of queue.entries()) {
      if (at >= MAX_DIRECTORIES || found.length >= MAX_FILES) break;
      for (const entry of this.entries(directory)) {
        const path = `${directory}/${entry.name}`;
        if (entry.isFile() && isWanted(entry.name) && !path.endsWith('_test.go')) found.push(path);
        else if (entry.isDirectory() && this.#holdsSources(path, entry.name)) queue.push(path);
      }
    }
    return found;
  }

  /** A virtual environment of Python holds libraries, whatever it is called. */
  #holdsSources(directory: string, name: string): boolean {
    if (name.startsWith('.') || SKIPPED_DIRECTORIES.has(name)) return false;
    return this.entries(directory).every((entry) => entry.name !== 'pyvenv.cfg');
  }

  /** What a directory contains; nothing if it cannot be read. */
  entries(directory: string): Dirent[] {
    return known(this.#entries, directory, () => {
      try {
        return readdirSync(directory, { withFileTypes: true });
      } catch {
        return [];
      }
    });
  }

  /** The text of a file; empty if there is none, if it is too large, or if it is a pipe or a device, which might be read without end. */
  text(path: string): string {
    return known(this.#texts, path, () => {
      try {
        const found = statSync(path);
        return found.isFile() && found.size <= MAX_BYTES ? readFileSync(path, 'utf8') : '';
      } catch {
        return '';
      }
    });
  }

  /** The answer to a question that several ask. */
  once<T>(question: (checkout: Checkout) => T): T {
    return known(this.#answers, question, () => question(this)) as T;
  }

  /** Frees what was read. What is asked next is read again. */
  forget(): void {
    for (const one of [this.#entries, this.#texts, this.#answers]) one.clear();
  }
}

function known<K, V>(all: Map<K, V>, key: K, find: () => V): V {
  const before = all.get(key);
  if (before !== undefined) return before;
  const found = find();
  all.set(key, found);
  return found;
}

/** Those YAML files, or files with other names, below `root` whose text matches; also files that are larger than a source. */
export async function manifestFiles(root: string, pattern: RegExp, names = MANIFEST): Promise<SourceText[]> {
  const paths = new Checkout(root).files((name) => names.test(name));
  const found: SourceText[] = [];
  for (let at = 0; at < paths.length; at += AT_ONCE) {
    const read = paths
      .slice(at, at + AT_ONCE)
      .map(async (path) => ({ path, text: await readManifest(path) }));
    found.push(...(await Promise.all(read)).filter(({ text }) => pattern.test(text)));
  }
  return found;
}

async function readManifest(file: string): Promise<string> {
  const { size } = await stat(file).catch(() => ({ size: 0 }));
  return size === 0 || size > MAX_MANIFEST_BYTES ? '' : await readFile(file, 'utf8').catch(() => '');
}

const MANIFEST = /\.ya?ml$/;

/** Whether there is a file, and no directory, pipe or device. A link can lead to itself, or where this user is not allowed to look. */
export function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** What editors create next to a file while they save it. */
const EDITOR_FILE = /^(\.#.*|#.*#|4913|.*~|.*\.(swp|swx|swo|tmp|pyc))$/;

/** Whether an editor keeps something of its own in a file of this name. */
export function isEditorFile(name: string): boolean {
  return EDITOR_FILE.test(name);
}

/** The times of files come from the kernel's coarse clock, which lags behind the precise clock. */
export const COARSE_CLOCK_MS = 10;

import { cp, lstat, mkdir, mkdtemp, readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type ManifestGeneration, manifestGeneration } from '../../checkout/make/controller-gen.ts';
import { DevloopError } from '../../errors.ts';
import { findProgram, isExecutableFile } from '../../machine/find-program.ts';
import { runWithin } from '../../machine/limited-tool.ts';
import { leadsOut } from '../../machine/own-files.ts';
import { readTextFile } from '../../machine/text-file.ts';
import { bothEnds } from '../../phrases.ts';
import type { Io } from '../context/options.ts';
import { ManifestSources } from './sources.ts';

/** What controller-gen writes now, in a directory of devloop's. */
export interface Generated {
  /** Has the files below the paths that they have in the checkout. */
  directory: string;
  /** The paths of those that the checkout does not have. */
  missing: string[];
  /** The paths of those that the checkout has with another content. */
  old: string[];
}

type Running = Pick<Io, 'env' | 'signal'>;

const VERSION_MS = 10_000;
const GENERATE_MS = 120_000;
const MOST_FILES = 10_000;
const MOST_BYTES = 100 << 20;
const NEVER_COPIED = new Set(['.git', 'node_modules']);
const LONGEST_ERROR = 2_000;
const KUSTOMIZATION = /(?:^|\/)(?:kustomization\.ya?ml|Kustomization)$/;
const COMMENT = /^\s*#.*$/gm;
const UPWARD = /(?<![\w./-])(?:\.\/)*(?:\.\.\/)+[\w./-]*/g;

/** Runs controller-gen with the arguments that a Makefile gives it, and never writes to the checkout. */
export class Generating {
  readonly root: string;
  readonly sources: ManifestSources;
  readonly #generation: ManifestGeneration;

  private constructor(root: string, generation: ManifestGeneration) {
    this.root = root;
    this.#generation = generation;
    this.sources = new ManifestSources(root);
  }

  /** Undefined if no Makefile says how the manifests are made. */
  static async of(root: string): Promise<Generating | undefined> {
    const generation = manifestGeneration(await readTextFile(join(root, 'Makefile')));
    return generation && new Generating(root, generation);
  }

  /** `make manifests`. */
  get command(): string {
    return `make ${this.#generation.target}`;
  }

  /** What the user does if devloop cannot generate them. controller-gen itself runs go. */
  advice({ env }: Pick<Io, 'env'>, command = this.command): string {
    return 'path' in findProgram('go', env.PATH) ? command : 'Install Go from https://go.dev/dl';
  }

  /** What the user does in a checkout in which nothing has been generated yet. */
  adviceForAll(io: Pick<Io, 'env'>): string {
    const { codeTarget } = this.#generation;
    return this.advice(io, [this.command, ...(codeTarget === undefined ? [] : [codeTarget])].join(' '));
  }

  /** What has to be generated, judging by the times of the files. */
  age(): ReturnType<ManifestSources['age']> {
    return this.sources.age(this.#generation);
  }

  /** controller-gen in the version that the Makefile names, with `why` if there is none. */
  async program(io: Running): Promise<{ command: string[] } | { why: string }> {
    const { program, version } = this.#generation;
    if ('go' in program) {
      const found = findProgram('go', io.env.PATH);
      return 'path' in found
        ? { command: [found.path, ...program.go] }
        : { why: `controller-gen needs go, ${found.why}` };
    }
    const named = program.file.replace(/\$\((?:shell pwd|CURDIR|PWD)\)/, this.root);
    const isPath = named.includes('/') && !named.includes('$');
    const own = [resolve(this.root, named)].filter((file) => isPath && !leadsOut(relative(this.root, file)));
    const bin = join(this.root, 'bin/controller-gen');
    const onPath = findProgram('controller-gen', io.env.PATH);
    const files = [...own, bin, ...(version ? [`${bin}-${version}`] : [])].filter(isExecutableFile);
    for (const file of [...files, ...('path' in onPath ? [onPath.path] : [])])
      if (version === undefined || (await versionOf(file, io)) === version) return { command: [file] };
    const what = version === undefined ? 'controller-gen' : `controller-gen ${version}`;
    return { why: `${what} is neither in bin/ nor on the PATH` };
  }

  /** Throws 'embedded.manifests' with what controller-gen says. */
  async run(command: string[], scratch: string, io: Running): Promise<Generated> {
    const directory = await mkdtemp(join(scratch, 'generated-'));
    for (const { words, outputs } of this.#generation.calls) {
      const places = [...outputs].map(
        // A path can have characters that mean something to controller-gen.
        ([generator, below]) =>
          `output:${generator}:artifacts:config=${JSON.stringify(join(directory, below))}`,
      );
      const options = { cwd: this.root, env: io.env, signal: io.signal };
      const result = await runWithin(GENERATE_MS, [...command, ...words, ...places], options);
      if (result === undefined)
        throw notGenerated(`It did not end within ${GENERATE_MS / 1000} s.`, this.advice(io));
      if (result.code !== 0) throw notGenerated(result.output, this.advice(io));
    }
    return await this.compared(directory);
  }

  /** What was generated, compared with the checkout as it is now. */
  async compared(directory: string): Promise<Generated> {
    const files = (await readdir(directory, { recursive: true })).filter((file) => /\.ya?ml$/.test(file));
    const found = await Promise.all(files.map((file) => this.#compared(directory, file)));
    const of = (is: string): string[] =>
      found
        .filter((one) => one.is === is)
        .map(({ file }) => file)
        .sort();
    // What else the rule does to a file is not known.
    return { directory, missing: of('missing'), old: this.#generation.isWhole ? of('old') : [] };
  }

  async #compared(
    directory: string,
    file: string,
  ): Promise<{ file: string; is: 'missing' | 'old' | 'same' }> {
    const now = await readFile(join(directory, file), 'utf8');
    const before = await readTextFile(join(this.root, file));
    if (before === '') return { file, is: 'missing' };
    return { file, is: now === before || (await saySame(now, before)) ? 'same' : 'old' };
  }
}

/** A copy of the checkout's directories in which kustomize finds the new files. Returns what stands for the root. */
export async function overlay(
  { root, generated, scratch }: { root: string; generated?: Generated | undefined; scratch: string },
  directory: string,
): Promise<string> {
  const copy = await mkdtemp(join(scratch, 'checkout-'));
  const files = [...(generated?.missing ?? []), ...(generated?.old ?? [])];
  const tops = new Set([directory, ...files].map((path) => path.split('/')[0]!));
  const filter = limited();
  for (const top of tops) {
    await cp(join(root, top), join(copy, top), { recursive: true, filter }).catch(ignoreMissing);
    for (const other of await namedIn(copy, top)) tops.add(other);
  }
  for (const file of files) {
    await mkdir(dirname(join(copy, file)), { recursive: true });
    await cp(join(generated!.directory, file), join(copy, file));
  }
  return copy;
}

/** What the kustomizations in a part of a copy name outside of that part, such as `../../deploy`, by its first directory. */
async function namedIn(copy: string, part: string): Promise<string[]> {
  // It can also be a file, or missing.
  const names = await readdir(join(copy, part), { recursive: true }).catch(() => []);
  const files = names.filter((name) => KUSTOMIZATION.test(name)).map((name) => join(copy, part, name));
  const found = files.map(async (file) =>
    [...(await readTextFile(file)).replace(COMMENT, '').matchAll(UPWARD)].map(([path]) =>
      relative(copy, resolve(dirname(file), path)),
    ),
  );
  return (await Promise.all(found))
    .flat()
    .map((path) => path.split('/')[0]!)
    .filter((top) => !['', '..'].includes(top));
}

/** Says what is copied. Through a link, the copy would be the checkout itself, or anything else. */
function limited(): (path: string) => Promise<boolean> {
  let [files, bytes] = [0, 0];
  return async (path) => {
    const found = await lstat(path);
    if (found.isSymbolicLink() || NEVER_COPIED.has(basename(path))) return false;
    files++;
    bytes += found.size;
    if (files > MOST_FILES || bytes > MOST_BYTES) throw tooLarge();
    return true;
  };
}

function tooLarge(): DevloopError {
  const message = `The directory of the manifests has more than ${MOST_FILES} files or ${MOST_BYTES >> 20} MiB, so devloop does not copy it.`;
  return new DevloopError('embedded.manifests', message, {
    hint: 'Put the manifests in a directory of their own, such as config/.',
  });
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}

async function versionOf(file: string, { env, signal }: Running): Promise<string | undefined> {
  const result = await runWithin(VERSION_MS, [file, '--version'], { env, signal });
  return /v\d\S*/.exec(result?.stdout ?? '')?.[0];
}

/** YAML can be written in several ways, and a file can have a licence at its top. */
async function saySame(one: string, other: string): Promise<boolean> {
  const { parseAllDocuments } = await import('yaml');
  const read = (text: string): unknown[] =>
    parseAllDocuments(text)
      .map((document) => document.toJS() as unknown)
      .filter((value) => value !== null);
  try {
    return isDeepStrictEqual(read(one), read(other));
  } catch {
    return false;
  }
}

function notGenerated(output: string, hint: string): DevloopError {
  // Its help follows.
  const said = bothEnds(output.split(/^Usage:/m, 1)[0]!.trim(), LONGEST_ERROR);
  return new DevloopError('embedded.manifests', `controller-gen failed:\n${said}`, { hint });
}

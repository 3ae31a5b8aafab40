import { access, constants, open, readdir, realpath } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { ARCH, dataDirectory, OS } from '../../machine/host.ts';
import { leadsOut } from '../../machine/own-files.ts';
import { readTextFile } from '../../machine/text-file.ts';
import { runTool } from '../../machine/tool.ts';
import { shortened } from '../../phrases.ts';

/** The programs of an API server, and what each prints about its version. The operator's own tests need the same ones. */
const PROGRAMS = { etcd: /^etcd Version: (\d\S*)/m, 'kube-apiserver': /^Kubernetes (v\d\S*)/m };
const NAMES = Object.keys(PROGRAMS) as (keyof typeof PROGRAMS)[];
const VERSION_SECONDS = 20;
const MOST_SHOWN = 200;
/** A directory of setup-envtest: `1.36.0-linux-amd64`. */
const STORED = /^(\d+)\.(\d+)\.(\d+)-(\w+)-(\w+)$/;

type Env = Record<string, string | undefined>;

export interface AssetsFound {
  /** The directory with the programs; undefined if there is none that can be used. */
  directory?: string;
  /** Why a directory that was found, or that KUBEBUILDER_ASSETS names, cannot be used. Each names a file. */
  problems: string[];
}

/**
 * Where the programs are: in KUBEBUILDER_ASSETS, and nowhere else if that is set; where kubebuilder's Makefile puts them; or in
 * setup-envtest's own store. Of several, those of the version that the checkout wants come first, then newer ones.
 */
export async function findAssets(checkout: string, env: Env): Promise<AssetsFound> {
  const named = env.KUBEBUILDER_ASSETS;
  const problems: string[] = [];
  for (const directory of named ? [named] : await installed(checkout, env)) {
    const problem = await problemIn(directory);
    if (problem === undefined) return { directory, problems };
    problems.push(problem);
  }
  return { problems };
}

async function problemIn(directory: string): Promise<string | undefined> {
  const [, , , , os, arch] = STORED.exec(directory.split('/').at(-1)!) ?? [];
  if (os !== undefined && (os !== OS || arch !== ARCH))
    return `${directory} is for ${os}/${arch}, and this machine is ${OS}/${ARCH}`;
  for (const name of NAMES) {
    const file = join(directory, name);
    if (!(await may(file, constants.F_OK))) return `${file} is missing`;
    if (!(await may(file, constants.X_OK))) return `${file} is not executable`;
  }
  return undefined;
}

function may(file: string, mode: number): Promise<boolean> {
  return access(file, mode).then(
    () => true,
    () => false,
  );
}

/** The directories that have one of the programs, best first. */
async function installed(checkout: string, env: Env): Promise<string[]> {
  const below = join(checkout, 'bin', 'k8s');
  const wanted = await wantedVersion(checkout);
  const found = await Promise.all(
    [below, join(below, 'k8s'), join(store(env), 'k8s')].map(async (directory) => {
      const names = await readdir(directory).catch(() => []);
      const sorted = names.sort((one, other) => other.localeCompare(one, 'en', { numeric: true }));
      return sorted.map((name) => join(directory, name));
    }),
  );
  const isWanted = (directory: string): boolean =>
    wanted !== undefined && minorOf(directory.split('/').at(-1)) === minorOf(wanted);
  const all = found.flat().sort((one, other) => Number(isWanted(other)) - Number(isWanted(one)));
  const areThere = await Promise.all(
    all.map(async (one) => (await Promise.all(NAMES.map((name) => may(join(one, name), 0)))).includes(true)),
  );
  return all.filter((_, index) => areThere[index]);
}

/** Where setup-envtest installs programs unless it is told another directory (tools/setup-envtest/store of controller-runtime). */
function store(env: Env): string {
  return dataDirectory(env, { linux: 'kubebuilder-envtest', macos: 'io.kubebuilder.envtest' });
}

/** Whether the checkout has put the programs there, so that only who trusts it runs them. */
export async function areOfCheckout(directory: string, checkout: string): Promise<boolean> {
  const files = [directory, ...NAMES.map((name) => join(directory, name))];
  const [root, ...real] = await Promise.all([checkout, ...files].map((file) => realpath(file)));
  return !leadsOut(relative(checkout, directory)) || real.some((file) => !leadsOut(relative(root!, file)));
}

/** The version that setup-envtest's name for a directory says; undefined if the name says none. */
export function storedVersion(directory: string): string | undefined {
  const [, major, minor, patch] = STORED.exec(basename(directory)) ?? [];
  return major && `v${major}.${minor}.${patch}`;
}

/** The version of kube-apiserver, such as `v1.36.3`, or why the programs do not run here. */
export async function inspectAssets(
  directory: string,
  signal: AbortSignal,
): Promise<{ version: string } | { problem: string }> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(VERSION_SECONDS * 1000)]);
  const [etcd, server] = await Promise.all(NAMES.map((name) => versionOf(name, directory, limit))).catch(
    (error) => {
      if (signal.aborted || !limit.aborted) throw error;
      const problem = `a program in ${directory} does not print its version within ${VERSION_SECONDS} s`;
      return [{ problem }, { problem }];
    },
  );
  return 'problem' in etcd! ? etcd : server!;
}

async function versionOf(
  name: keyof typeof PROGRAMS,
  directory: string,
  signal: AbortSignal,
): Promise<{ version: string } | { problem: string }> {
  const file = join(directory, name);
  const { missing, output } = await runTool([file, '--version'], { signal, keeps: 10_000 });
  const version = PROGRAMS[name].exec(output)?.[1];
  if (version !== undefined) return { version };
  // The system's own words are no help: what it cannot start, a shell reads.
  if (missing || !(await isProgramHere(file)))
    return { problem: `${file} is not a program for ${OS}/${ARCH}` };
  return { problem: `${file} --version prints no version, but: ${shortened(output.trim(), MOST_SHOWN)}` };
}

/** Whether a file is a script, or begins like Node's own program: with the same format, and for the same kind of processor. */
async function isProgramHere(file: string): Promise<boolean> {
  const [own, other] = await Promise.all([process.execPath, file].map(headOf));
  const { length } = HASH_BANG;
  if (other!.subarray(0, length).equals(HASH_BANG)) return true;
  const kindIn = (head: Buffer): string => head.toString('hex', 0, 6) + head.toString('hex', 18, 20);
  return kindIn(own!) === kindIn(other!);
}

const HASH_BANG = Buffer.from('#!');
const HEAD_BYTES = 20;

async function headOf(path: string): Promise<Buffer> {
  await using file = await open(path);
  const { buffer } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
  return buffer;
}

/** The command that installs the programs: the checkout's own, if it has one. */
export async function installCommand(checkout: string): Promise<string> {
  const makefile = (await readTextFile(join(checkout, 'Makefile'))) ?? '';
  if (/^setup-envtest\s*:/m.test(makefile)) return 'make setup-envtest';
  const wanted = minorOf(await wantedVersion(checkout));
  return setupEnvtest(wanted);
}

/** setup-envtest need not be installed for this. */
export function setupEnvtest(minor: string | undefined): string {
  const use = `use${minor ? ` ${minor}.x` : ''}`;
  return `go run sigs.k8s.io/controller-runtime/tools/setup-envtest@latest ${use}`;
}

/** The version that the checkout's Makefile asks for. */
export async function wantedVersion(checkout: string): Promise<string | undefined> {
  const files = ['Makefile', 'go.mod'].map((name) => readTextFile(join(checkout, name)));
  const [makefile = '', mod = ''] = await Promise.all(files);
  return envtestVersion(makefile, mod);
}

/**
 * The ENVTEST_K8S_VERSION of a Makefile. kubebuilder's Makefile derives it from the module k8s.io/api, whose v0.36.2 means Kubernetes 1.36;
 * if go.mod replaces that module, the replacement's version counts.
 */
export function envtestVersion(makefile: string, goMod: string): string | undefined {
  const value = /^\s*ENVTEST_K8S_VERSION\s*[:?]?=\s*((?:[^\n]*\\\n)*[^\n]*)/m.exec(makefile)?.[1] ?? '';
  const fixed = /^v?(\d+\.\d+\S*)/.exec(value)?.[1];
  if (fixed !== undefined || !value.includes('k8s.io/api')) return fixed;
  const replaced = /^(?:replace)?\s*k8s\.io\/api(?: v\S+)? => \S+ v0\.(\d+)\./m.exec(goMod);
  const minor = (replaced ?? /^(?:require)?\s*k8s\.io\/api v0\.(\d+)\./m.exec(goMod))?.[1];
  return minor === undefined ? undefined : `1.${minor}`;
}

/** The minor version: `1.36` of `v1.36.3`. */
export function minorOf(version: string | undefined): string | undefined {
  return /(\d+\.\d+)/.exec(version ?? '')?.[1];
}

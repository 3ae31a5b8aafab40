import { dirname, join } from 'node:path';
import { DevloopError } from '../../errors.ts';
import { readTextFile } from '../../machine/text-file.ts';
import { runTool, type ToolResult } from '../../machine/tool.ts';
import { cargoAdvice } from './build-tool.ts';

/** A program that a package of the workspace makes. */
export interface Binary {
  name: string;
  package: string;
  /** The directory of the package. */
  directory: string;
  /** Whether the package depends on kube, so that the program can be an operator. */
  callsKubernetes: boolean;
  /** Whether the package names it as its `default-run`. */
  isDefault: boolean;
  /** The features without which cargo does not build it. */
  features: string[];
}

export interface Workspace {
  root: string;
  binaries: Binary[];
  /** Where cargo writes the programs that it builds. */
  output: string;
  /** The newest version of Rust that a package asks for. */
  rustVersion: string | undefined;
}

interface Metadata {
  packages: {
    name: string;
    manifest_path: string;
    default_run: string | null;
    rust_version: string | null;
    dependencies: { name: string; kind: string | null }[];
    targets: { name: string; kind: string[]; 'required-features'?: string[] }[];
  }[];
  target_directory: string;
  workspace_root: string;
}

/** rustup would otherwise install a missing toolchain as soon as cargo is asked anything, and add its own stack to its message. */
const ASKED = { RUSTUP_AUTO_INSTALL: '0', RUST_BACKTRACE: '0' };

/** Runs cargo without installing or downloading anything. */
export function askCargo(
  args: string[],
  cwd: string,
  { env = process.env, signal }: Asking,
): Promise<ToolResult> {
  return runTool(['cargo', ...args], { cwd, env: { ...env, ...ASKED }, signal });
}

interface Asking {
  env?: NodeJS.ProcessEnv;
  signal?: AbortSignal | undefined;
}

/** What cargo knows about a checkout. Throws 'controller.no-toolchain' without a cargo that can read it. */
export async function readWorkspace(root: string, asking: Asking): Promise<Workspace> {
  const words = ['metadata', '--no-deps', '--offline', '--format-version', '1'];
  const { missing, code, stdout, stderr } = await askCargo(words, root, asking);
  if (missing) throw noCargo();
  if (code !== 0) {
    const hint = cargoAdvice(stderr);
    const message = `cargo cannot read ${root}: ${stderr.trim()}`;
    throw new DevloopError('controller.no-toolchain', message, hint === undefined ? {} : { hint });
  }
  const { packages, target_directory, workspace_root } = JSON.parse(stdout) as Metadata;
  const versions = packages.flatMap(({ rust_version }) => rust_version ?? []);
  return {
    root: workspace_root,
    binaries: packages.flatMap(binariesOf),
    output: join(target_directory, await targetOf(workspace_root, asking.env ?? process.env), 'debug'),
    rustVersion: versions.toSorted(compareVersions).at(-1),
  };
}

/** `target = "x86_64-unknown-linux-musl"` in the section [build] */
const TARGET = /^\s*\[build\][^[]*?^\s*target\s*=\s*"([^"]+)"/m;

/** The target for which cargo builds, if it is not that of this machine: its programs are then in a directory of that name. */
async function targetOf(workspace: string, { CARGO_BUILD_TARGET }: NodeJS.ProcessEnv): Promise<string> {
  const texts = ['config.toml', 'config'].map((name) => readTextFile(join(workspace, '.cargo', name)));
  const named = (await Promise.all(texts)).map((text) => TARGET.exec(text)?.[1]);
  return CARGO_BUILD_TARGET || (named.find((one) => one !== undefined) ?? '');
}

const CLIENTS = /^(?:kube|kube-(?:client|core|runtime)|k8s-openapi)$/;

function binariesOf({
  name,
  manifest_path,
  default_run,
  dependencies,
  targets,
}: Metadata['packages'][0]): Binary[] {
  const programs = targets.filter(({ kind }) => kind.includes('bin'));
  return programs.map((target) => ({
    name: target.name,
    package: name,
    directory: dirname(manifest_path),
    callsKubernetes: dependencies.some((one) => one.kind === null && CLIENTS.test(one.name)),
    isDefault: default_run === target.name,
    features: target['required-features'] ?? [],
  }));
}

/** Orders versions such as 1.80 and 1.80.1. */
export function compareVersions(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}

export function noCargo(): DevloopError {
  return new DevloopError(
    'controller.no-toolchain',
    'The operator is written in Rust, but there is no cargo on the PATH.',
    { hint: 'Install Rust from https://rustup.rs, or run a built operator: devloop up -- <command>' },
  );
}

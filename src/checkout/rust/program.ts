import { join } from 'node:path';
import type { Checkout } from '../files.ts';
import { readImage } from '../image/workload-image.ts';
import type { FoundProgram, Preflight, ProgramHints } from '../language.ts';
import { cargoAdvice } from './build-tool.ts';
import { askCargo, readWorkspace } from './cargo.ts';
import { chooseBinary } from './choice.ts';

/** The program of the workspace that is the manager, and how cargo builds it. */
export async function rustProgram(checkout: Checkout, hints: ProgramHints): Promise<FoundProgram> {
  const [workspace, image] = await Promise.all([
    readWorkspace(checkout.root, hints),
    readImage(checkout, hints),
  ]);
  const { binary, source, rivals } = chooseBinary(workspace, hints, image.image);
  const features = binary.features.length > 0 ? ['--features', binary.features.join(',')] : [];
  const made = join(workspace.output, binary.name);
  return {
    what: 'program',
    name: binary.name,
    source,
    chosen: [],
    cwd: workspace.root,
    build: ['cargo', 'build', '--package', binary.package, '--bin', binary.name, ...features],
    output: 'same file',
    run: [made, '{args}'],
    preflight: (signal) => preflight(binary.package, workspace.root, signal),
    hasWebhooks: hints.named !== undefined || namesPaths(checkout, binary.directory, hints.paths),
    rivals: rivals.map(({ name }) => name),
    ...image,
  };
}

/** Whether a source of the package contains one of the webhooks' paths. */
function namesPaths(checkout: Checkout, directory: string, paths: string[] = []): boolean {
  const sources = checkout.files((name) => name.endsWith('.rs'), directory);
  return sources.some((source) => paths.some((path) => checkout.text(source).includes(path)));
}

/** What cargo says when it would have to use the network, or to write the lock file first, which can need the network. */
const NEEDS_NETWORK = /--offline was specified|offline mode|--locked (?:was passed|flag)|failed to download/;

/** Lists what the package is built from on this machine, without using the network or changing Cargo.lock. */
async function preflight(name: string, cwd: string, signal: AbortSignal): Promise<Preflight> {
  const { code, stderr } = await askCargo(['tree', '--offline', '--locked', '--package', name], cwd, {
    signal,
  });
  if (code === 0) return { is: 'ready' };
  const hint = cargoAdvice(stderr);
  if (NEEDS_NETWORK.test(stderr)) return { is: 'downloads' };
  return { is: 'broken', problem: stderr.trim(), hint };
}

import { dirname, isAbsolute, join, relative } from 'node:path';
import { Checkout, isFile } from '../../checkout/files.ts';
import { builtOverlays, DEFAULT_OVERLAY } from '../../checkout/make/overlays.ts';
import { DevloopError } from '../../errors.ts';
import { leadsOut } from '../../machine/own-files.ts';
import { readTextFile } from '../../machine/text-file.ts';
import { firstOf, shellWord } from '../../phrases.ts';
import { chartOf } from './chart.ts';
import { kustomizationOf } from './kustomization.ts';
import { otherOverlay } from './other-overlay.ts';

const KUSTOMIZATION = 'kustomization.yaml';
export const BUNDLE = 'dist/install.yaml';
const SHOWN = 6;

/**
 * The directory of the manifests: the nearest one with an overlay, from the working directory up to the root, because one module can have
 * several projects of kubebuilder.
 */
export async function projectRoot(cwd: string, root: string): Promise<string> {
  for (let directory = cwd; directory.startsWith(`${root}/`); directory = dirname(directory))
    if ((await kustomization(directory)) !== undefined) return directory;
  return root;
}

/** What of the checkout is rendered. A bundle and a chart are made from manifests that controller-gen has written before. */
export async function sourceOf(
  root: string,
): Promise<{ is: 'overlay' | 'bundle' | 'chart' | 'files'; name: string }> {
  const directory = await kustomization(root);
  if (directory !== undefined) return { is: 'overlay', name: directory };
  if (isFile(join(root, BUNDLE))) return { is: 'bundle', name: BUNDLE };
  const chart = chartOf(root);
  if (chart !== undefined) return { is: 'chart', name: chart };
  const other = projectsIn(root).length > 1 ? undefined : await otherOverlay(root);
  return other === undefined ? { is: 'files', name: '' } : { is: 'overlay', name: other };
}

async function kustomization(root: string): Promise<string | undefined> {
  const built = builtOverlays(await readTextFile(join(root, 'Makefile')));
  const within = built.filter((one) => !leadsOut(one) && !isAbsolute(one));
  return within.find((directory) => kustomizationOf(join(root, directory)) !== undefined);
}

/** Throws 'embedded.manifests' if the root has no manifests of its own, and several projects below it have. */
export function requireOneProject(root: string): void {
  const projects = projectsIn(root);
  if (projects.length < 2) return;
  const message = `This checkout has several projects, each with its own ${DEFAULT_OVERLAY}: ${firstOf(projects)}.`;
  const commands = projects.slice(0, SHOWN).map((one) => `cd ${shellWord(one)} && devloop up --embedded`);
  throw new DevloopError('embedded.manifests', message, { hint: commands.join('\n') });
}

/** The directories of kubebuilder's projects. */
function projectsIn(root: string): string[] {
  const end = `/${DEFAULT_OVERLAY}/${KUSTOMIZATION}`;
  return new Checkout(root)
    .files((name) => name === KUSTOMIZATION)
    .filter((file) => file.endsWith(end))
    .map((file) => relative(root, file.slice(0, -end.length)));
}

import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isFile } from '../../checkout/files.ts';
import { DEFAULT_OVERLAY } from '../../checkout/make/overlays.ts';
import { DevloopError, messageOf } from '../../errors.ts';
import { findProgram } from '../../machine/find-program.ts';
import { runWithin } from '../../machine/limited-tool.ts';
import { readTextFile } from '../../machine/text-file.ts';
import type { Io } from '../context/options.ts';
import { type Generated, Generating, overlay } from '../generated/generate.ts';
import { addWebhooks } from './add-webhooks.ts';
import { RENDER_MS, renderChart, whyNot } from './chart.ts';
import { CRD, type Declared, isWebhookConfiguration } from './declared.ts';
import { kustomizationOf } from './kustomization.ts';
import { plainObjects } from './plain.ts';
import { BUNDLE, requireOneProject, sourceOf } from './source.ts';
import { objectsIn } from './yaml.ts';

export interface Rendered {
  objects: Declared[];
  /** `config/default`, or what else was read. */
  from: string;
  /** What of the checkout the objects are made of: directories, or a file. */
  watched: string[];
  /** The webhooks that the overlay leaves out, and that are among the objects. */
  added?: Added;
}

interface Added {
  directory: string;
  webhooks: string;
  /** Why they are not among the objects, if so. */
  whyNot?: string;
}

export interface RenderedFrom {
  root: string;
  /** What controller-gen writes, in place of the checkout's files. */
  generated: Generated | undefined;
  assets: string;
  /** A directory of the session. */
  scratch: string;
}

/** The objects that `make deploy` would create. Throws 'embedded.manifests'. */
export async function renderCheckout(from: RenderedFrom, io: Io): Promise<Rendered> {
  const { root } = from;
  const source = await sourceOf(root);
  const { name } = source;
  if (source.is === 'overlay')
    return { from: name, ...(await kustomized(name, from, io)), watched: [topOf(name)] };
  if (source.is === 'chart')
    return { objects: await renderChart(root, name, io), from: name, watched: [name] };
  if (source.is === 'bundle') {
    const text = await readTextFile(join(root, name));
    return { objects: await objectsIn(text, name), from: name, watched: [name] };
  }
  requireOneProject(root);
  const { objects, places } = await plainObjects(root, from.generated?.directory);
  if (objects.length > 0)
    return { objects, from: `the YAML files below ${places.join(', ')}`, watched: places };
  throw new DevloopError(
    'embedded.manifests',
    `There is neither ${DEFAULT_OVERLAY}/kustomization.yaml nor ${BUNDLE} nor a chart nor a plain manifest in this checkout, so devloop does not know what the operator consists of.`,
    { hint: 'For a project of kubebuilder: make manifests generate, or make build-installer' },
  );
}

async function kustomized(
  directory: string,
  from: RenderedFrom,
  io: Io,
): Promise<Pick<Rendered, 'objects' | 'added'> & { from?: string }> {
  const { root, generated } = from;
  await using copies = new AsyncDisposableStack();
  const copy = async (): Promise<string> =>
    copies.adopt(await overlay(from, directory), (place) => rm(place, { recursive: true, force: true }));
  const place = generated === undefined ? root : await copy();
  const render = async (top: string, what: string): Promise<Declared[]> =>
    await objectsIn(await kustomize(join(top, what), from, io), what);
  const own = await render(place, directory);
  const [crds, webhooks] = [beside(place, directory, 'crd'), beside(place, directory, 'webhook')];
  // Many Makefiles have `install` for the CRDs, and `deploy` for the rest.
  const isApart = !own.some(({ kind }) => kind === CRD) && kustomizationOf(join(place, crds)) !== undefined;
  const apart = isApart ? await render(place, crds) : [];
  const shown = apart.length > 0 ? { from: `${directory}, ${crds}` } : {};
  const isLeftOut =
    !own.some(isWebhookConfiguration) &&
    isFile(join(place, webhooks, 'manifests.yaml')) &&
    kustomizationOf(join(place, webhooks)) !== undefined;
  if (!isLeftOut) return { objects: [...apart, ...own], ...shown };
  const more = generated === undefined ? await copy() : place;
  try {
    await addWebhooks({ overlay: join(more, directory), webhooks: join(more, webhooks), root }, own);
    const all = await render(more, directory);
    return { objects: [...apart, ...all], added: { directory, webhooks }, ...shown };
  } catch (error) {
    if (!(error instanceof DevloopError)) throw error;
    // What the overlay has is what `make deploy` deploys.
    return {
      objects: [...apart, ...own],
      added: { directory, webhooks, whyNot: messageOf(error) },
      ...shown,
    };
  }
}

/** `config/crd` for `config/default`, and for `config/overlays/plain`, too. */
function beside(root: string, directory: string, part: string): string {
  const above = dirname(directory);
  const place = join(above, part);
  const isThere = kustomizationOf(join(root, place)) !== undefined;
  return isThere || above === '.' ? place : beside(root, above, part);
}

async function kustomize(directory: string, { root, assets }: RenderedFrom, io: Io): Promise<string> {
  const { env, signal, cwd } = io;
  const own = join(assets, 'kubectl');
  const found = findProgram('kubectl', env.PATH);
  const kubectl = 'path' in found ? found.path : isFile(own) ? own : undefined;
  const other = findProgram('kustomize', env.PATH);
  const command = kubectl ? [kubectl, 'kustomize'] : 'path' in other ? [other.path, 'build'] : undefined;
  if (command === undefined)
    throw new DevloopError(
      'embedded.manifests',
      'Neither kubectl nor kustomize is installed, and the manifests have to be rendered.',
      { hint: 'Install kubectl, or: make kustomize, with bin/ in PATH' },
    );
  const result = await runWithin(RENDER_MS, [...command, directory], { cwd, env, signal });
  if (result?.code === 0) return result.stdout;
  const shown = join(basename(dirname(directory)), basename(directory));
  const hint = (await Generating.of(root))?.adviceForAll(io);
  throw new DevloopError(
    'embedded.manifests',
    `The manifests cannot be rendered (${command.slice(1).join(' ')} ${shown}):\n${whyNot(result)}`,
    hint === undefined ? {} : { hint },
  );
}

function topOf(directory: string): string {
  return directory.split('/')[0]!;
}

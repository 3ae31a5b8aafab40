import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { DevloopError } from '../../errors.ts';
import { findProgram } from '../../machine/find-program.ts';
import { readTextFile } from '../../machine/text-file.ts';
import { runTool } from '../../machine/tool.ts';
import type { Io } from '../context/options.ts';
import type { Declared } from './objects.ts';

export interface Rendered {
  objects: Declared[];
  /** `config/default`, or the file that was read. */
  from: string;
}

const FILES = ['kustomization.yaml', 'kustomization.yml', 'Kustomization'];
const DEFAULT = 'config/default';
const BUNDLE = 'dist/install.yaml';
/** What the Makefile's `deploy` builds. */
const BUILT = /kustomize(?:\)|\})?"? build\s+([\w./-]+)|apply -k\s+([\w./-]+)/gi;
const LONGEST_ERROR = 4_000;

/** The objects that `make deploy` would create. Throws 'embedded.manifests'. */
export async function renderCheckout(root: string, assets: string, io: Io): Promise<Rendered> {
  const directory = await kustomization(root);
  if (directory !== undefined) {
    const text = await kustomize(join(root, directory), assets, io);
    return { objects: await objectsIn(text), from: directory };
  }
  const bundle = await readTextFile(join(root, BUNDLE));
  if (bundle !== undefined) return { objects: await objectsIn(bundle), from: BUNDLE };
  throw new DevloopError(
    'embedded.manifests',
    `There is neither ${DEFAULT}/kustomization.yaml nor ${BUNDLE} in this checkout, so devloop does not know what the operator consists of.`,
    { hint: 'For a project of kubebuilder: make manifests generate, or make build-installer' },
  );
}

async function kustomization(root: string): Promise<string | undefined> {
  const makefile = (await readTextFile(join(root, 'Makefile'))) ?? '';
  const named = [...makefile.matchAll(BUILT)].map(([, built, applied]) => built ?? applied!);
  for (const directory of [DEFAULT, ...named.filter((one) => !/crd/.test(one))])
    for (const file of FILES) if (await exists(join(root, directory, file))) return directory;
  return undefined;
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

async function kustomize(directory: string, assets: string, { env, signal, cwd }: Io): Promise<string> {
  const own = join(assets, 'kubectl');
  const found = findProgram('kubectl', env.PATH);
  const kubectl = 'path' in found ? found.path : (await exists(own)) ? own : undefined;
  const other = findProgram('kustomize', env.PATH);
  const command = kubectl ? [kubectl, 'kustomize'] : 'path' in other ? [other.path, 'build'] : undefined;
  if (command === undefined)
    throw new DevloopError(
      'embedded.manifests',
      'Neither kubectl nor kustomize is installed, and the manifests have to be rendered.',
      {
        hint: 'Install kubectl, or: make kustomize, with bin/ in PATH',
      },
    );
  const { code, stdout, stderr } = await runTool([...command, directory], { cwd, env, signal });
  if (code === 0) return stdout;
  throw new DevloopError(
    'embedded.manifests',
    `The manifests cannot be rendered (${command.slice(1).join(' ')} ${directory}):\n${stderr.trim().slice(0, LONGEST_ERROR)}`,
    {
      hint: 'make manifests generate',
    },
  );
}

async function objectsIn(text: string): Promise<Declared[]> {
  const { parseAllDocuments } = await import('yaml');
  const values: unknown[] = parseAllDocuments(text).map((document) => document.toJS());
  const all = values.flatMap((value) => {
    const { kind, items } = (value ?? {}) as { kind?: unknown; items?: unknown };
    return kind === 'List' && Array.isArray(items) ? items : [value];
  });
  return all.filter(isObject);
}

function isObject(value: unknown): value is Declared {
  const { apiVersion, kind, metadata } = (value ?? {}) as Record<string, unknown>;
  const { name } = (metadata ?? {}) as { name?: unknown };
  return typeof apiVersion === 'string' && typeof kind === 'string' && typeof name === 'string';
}

import { readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { isFile } from '../../checkout/files.ts';
import { readTextFile } from '../../machine/text-file.ts';
import type { Declared } from './objects.ts';

const FILES = ['kustomization.yaml', 'kustomization.yml', 'Kustomization'];
const PATCH = 'manager_webhook_patch.yaml';
/** The end of a JSON pointer that adds to a list. */
const APPENDS = '/-';

/** The kustomization of a directory. */
export function kustomizationOf(directory: string): string | undefined {
  return FILES.map((file) => join(directory, file)).find(isFile);
}

/**
 * Does what kubebuilder's comments in an overlay ask for: `uncomment all the sections with [WEBHOOK] prefix`. `rendered`: what the overlay
 * is without. Throws if a file cannot be read as YAML.
 */
export async function addWebhooks(
  overlay: string,
  webhooks: string,
  rendered: readonly Declared[],
): Promise<void> {
  const { parse, stringify } = await import('yaml');
  const file = kustomizationOf(overlay)!;
  const read = (parse(await readFile(file, 'utf8')) ?? {}) as Record<string, unknown[] | undefined>;
  const { kind } = (parse(await readTextFile(kustomizationOf(webhooks)!)) ?? {}) as { kind?: unknown };
  const list = kind === 'Component' ? 'components' : 'resources';
  const added = { [list]: [...(read[list] ?? []), relative(overlay, webhooks)] };
  const isPatched = JSON.stringify(read).includes(PATCH);
  const isWanted = !isPatched && isFile(join(overlay, PATCH));
  const target = { kind: 'Deployment' };
  const patch = isWanted ? parse(await readTextFile(join(overlay, PATCH))) : undefined;
  const lists = missingLists(patch, rendered);
  const patches = [
    ...(read.patches ?? []),
    ...(lists.length > 0 ? [{ target, patch: stringify(lists) }] : []),
    ...(isWanted ? [{ target, path: PATCH }] : []),
  ];
  await writeFile(file, stringify({ ...read, ...added, ...(patches.length > 0 && { patches }) }));
}

/** Creates the lists that a JSON patch adds to: the manager's manifest can be older than the patch, and have none of `ports: []`. */
function missingLists(patch: unknown, rendered: readonly Declared[]): object[] {
  const deployments = rendered.filter(({ kind }) => kind === 'Deployment');
  if (!Array.isArray(patch)) return [];
  const paths = (patch as { path?: unknown }[]).flatMap(({ path }) =>
    typeof path === 'string' && path.endsWith(APPENDS) ? [path.slice(0, -APPENDS.length)] : [],
  );
  return [...new Set(paths)]
    .filter((path) => deployments.length > 0 && deployments.every((one) => at(one, path) === undefined))
    .map((path) => ({ op: 'add', path, value: [] }));
}

function at(object: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce((value, key) => (value as Record<string, unknown> | null | undefined)?.[key], object);
}

import { readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { Checkout, isFile } from '../../checkout/files.ts';
import { readTextFile } from '../../machine/text-file.ts';
import type { Declared } from './declared.ts';
import { kustomizationOf } from './kustomization.ts';

const PATCH = 'manager_webhook_patch.yaml';
/** The end of a JSON pointer that adds to a list. */
const APPENDS = '/-';
const FLAG = /^--?([a-z][\w.-]*)/;

/**
 * Does what kubebuilder's comments in an overlay ask for: `uncomment all the sections with [WEBHOOK] prefix`. `rendered`: what the overlay
 * is without. Throws if a file cannot be read as YAML.
 */
export async function addWebhooks(
  { overlay, webhooks, root }: { overlay: string; webhooks: string; root: string },
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
  const patch: unknown = isWanted ? parse(await readTextFile(join(overlay, PATCH))) : undefined;
  const fitted = Array.isArray(patch)
    ? { patch: stringify(fitting(patch as Operation[], rendered, new Checkout(root))) }
    : { path: PATCH };
  const patches = [
    ...(read.patches ?? []),
    ...(isWanted ? [{ target: { kind: 'Deployment' }, ...fitted }] : []),
  ];
  await writeFile(file, stringify({ ...read, ...added, ...(patches.length > 0 && { patches }) }));
}

interface Operation {
  path?: unknown;
  value?: unknown;
}

/**
 * The patch can be newer than the project. So it first creates the lists that it adds to, such as `ports: []`, where the manager's manifest
 * has none, and gives the program only flags that its sources name: with others, it would not start.
 */
function fitting(patch: Operation[], rendered: readonly Declared[], checkout: Checkout): object[] {
  const sources = checkout.files((name) => name.endsWith('.go')).map((file) => checkout.text(file));
  const isKnown = ({ path, value }: Operation): boolean => {
    const [, flag] = (String(path).endsWith('/args/-') && FLAG.exec(String(value))) || [];
    return !flag || sources.length === 0 || sources.some((text) => text.includes(`"${flag}"`));
  };
  return [...missingLists(patch, rendered), ...patch.filter(isKnown)];
}

function missingLists(patch: Operation[], rendered: readonly Declared[]): object[] {
  const deployments = rendered.filter(({ kind }) => kind === 'Deployment');
  const paths = patch.flatMap(({ path }) =>
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

import { dirname, relative, resolve } from 'node:path';
import { manifestFiles, type SourceText } from '../../checkout/files.ts';

/** What the kustomizations of a checkout make of its files. */
export interface Kustomizations {
  /** The prefixes that they put in front of the names of objects; the empty one is always among them. */
  prefixes: string[];
  /** The kustomizations that list a file among their resources. */
  listing(file: string): string[];
  /** Whether a patch deletes an object, so that what a kustomization lists may not arrive. */
  deletes: boolean;
}

const KUSTOMIZATION = /\/kustomization\.ya?ml$/;
const NAME_PREFIX = /^namePrefix:\s*["']?([a-z0-9.-]+)/m;
const DELETION = /\$patch["']?:\s*["']?delete/;

/** Reads the kustomizations below `root`; the files that they list are relative to it. */
export async function readKustomizations(root: string): Promise<Kustomizations> {
  const files = await manifestFiles(root, /^resources:|^namePrefix:|\$patch/m);
  const lists = await Promise.all(
    files.filter(({ path }) => KUSTOMIZATION.test(path)).map((one) => listOf(one, root)),
  );
  return {
    prefixes: [...new Set([...files.flatMap(({ text }) => NAME_PREFIX.exec(text)?.[1] ?? []), ''])],
    listing: (file) => lists.filter(({ listed }) => listed.has(file)).map(({ name }) => name),
    deletes: files.some(({ text }) => DELETION.test(text)),
  };
}

async function listOf(
  { path: file, text }: SourceText,
  root: string,
): Promise<{ name: string; listed: Set<string> }> {
  const { parseDocument } = await import('yaml');
  const document = parseDocument(text);
  const resources: unknown = document.errors.length > 0 ? undefined : document.get('resources');
  const { items = [] } = (resources ?? {}) as { items?: { value?: unknown }[] };
  const paths = items.map(({ value }) => value).filter((value) => typeof value === 'string');
  const listed = new Set(paths.map((path) => relative(root, resolve(dirname(file), path))));
  return { name: file, listed };
}

import { access } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { readTextFile } from '../machine/text-file.ts';
import { shellWord } from '../phrases.ts';

/** What writes the CRDs of the checkout, and what applies them to the cluster, in the Makefiles of operators; the first that exists counts. */
const WRITES = ['manifests', 'generate-crds', 'crds', 'generate'];
const APPLIES = ['install', 'install-crds', 'install-crd', 'deploy-crds', 'apply-crds'];
const CRDS = 'config/crd/bases';

/** The command that brings the CRDs of the checkout into the cluster, for somebody whose current directory is `cwd`. */
export async function crdCommand({ root, cwd }: { root: string; cwd: string }): Promise<string> {
  const place = relative(cwd, root);
  const make = place === '' ? 'make' : `make -C ${shellWord(place)}`;
  const makefile = await readTextFile(join(root, 'Makefile'));
  const targets = new Set([...makefile.matchAll(/^([\w-]+)[ \t]*:(?!=)/gm)].map(([, name]) => name!));
  const first = (names: string[]): string[] => names.filter((name) => targets.has(name)).slice(0, 1);
  const writes = first(WRITES);
  const applies = first(APPLIES);
  if (applies.length > 0) return `${make} ${[...writes, ...applies].join(' ')}`;
  const hasCrds = await access(join(root, CRDS)).then(
    () => true,
    () => false,
  );
  const apply = hasCrds
    ? `kubectl apply --server-side -f ${shellWord(join(place, CRDS))}`
    : 'Apply the CRDs of the checkout to the cluster.';
  return writes.length > 0 && hasCrds ? `${make} ${writes[0]} && ${apply}` : apply;
}

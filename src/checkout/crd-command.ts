import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { readTextFile } from '../machine/text-file.ts';

/** What writes the CRDs of the checkout, and what applies them to the cluster, in the Makefiles of operators; the first that exists counts. */
const WRITES = ['manifests', 'generate-crds', 'crds', 'generate'];
const APPLIES = ['install', 'install-crds', 'install-crd', 'deploy-crds', 'apply-crds'];
const CRDS = 'config/crd/bases';

/** The command that brings the checkout's CRDs into the cluster. */
export async function crdCommand(root: string): Promise<string> {
  const makefile = await readTextFile(join(root, 'Makefile'));
  const targets = new Set([...makefile.matchAll(/^([\w-]+)[ \t]*:(?!=)/gm)].map(([, name]) => name!));
  const first = (names: string[]): string[] => names.filter((name) => targets.has(name)).slice(0, 1);
  const writes = first(WRITES);
  const applies = first(APPLIES);
  if (applies.length > 0) return `make ${[...writes, ...applies].join(' ')}`;
  const hasCrds = await access(join(root, CRDS)).then(
    () => true,
    () => false,
  );
  const apply = hasCrds
    ? `kubectl apply --server-side -f ${CRDS}`
    : 'Apply the CRDs of the checkout to the cluster.';
  return writes.length > 0 && hasCrds ? `make ${writes[0]} && ${apply}` : apply;
}

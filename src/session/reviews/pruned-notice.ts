import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { readTextFile } from '../../machine/text-file.ts';
import type { DevloopEvent, Emit } from '../../report/events.ts';

/** What writes the CRDs of the checkout, and what applies them to the cluster, in the Makefiles of operators; the first that exists counts. */
const WRITES = ['manifests', 'generate-crds', 'crds', 'generate'];
const APPLIES = ['install', 'install-crds', 'install-crd', 'deploy-crds', 'apply-crds'];
const CRDS = 'config/crd/bases';

/** Warns once for each kind whose CRD in the cluster lacks a field that a webhook sets, with the command that updates the CRD. */
export function createPrunedNotice(root: string, emit: Emit): { observe(event: DevloopEvent): void } {
  const known = new Set<string>();
  return {
    observe(event) {
      if (event.type !== 'review' || event.pruned === undefined || event.resource === undefined) return;
      const { group, kind } = event.resource;
      const fields = event.pruned.filter(({ why }) => why === 'not-in-crd').map(({ field }) => field);
      if (fields.length === 0 || known.has(`${kind}.${group}`)) return;
      known.add(`${kind}.${group}`);
      const message = `kube-apiserver drops ${fields.join(', ')} of each ${kind}, because the cluster's CRD does not have ${fields.length === 1 ? 'that field' : 'those fields'}.`;
      void updateCommand(root).then((hint) => emit({ type: 'warning', message, hint }));
    },
  };
}

/** The command that brings the checkout's CRDs into the cluster. */
export async function updateCommand(root: string): Promise<string> {
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
  const apply = hasCrds ? `kubectl apply --server-side -f ${CRDS}` : 'Apply the new CRD to the cluster.';
  return writes.length > 0 && hasCrds ? `make ${writes[0]} && ${apply}` : apply;
}

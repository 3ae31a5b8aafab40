import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import type { DevloopEvent } from '../../../../src/report/events.ts';
import type { PrunedField } from '../../../../src/report/review.ts';
import { createPrunedNotice, updateCommand } from '../../../../src/session/reviews/pruned-notice.ts';
import { eventually } from '../../../support/eventually.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'devloop-pruned-'));
  return () => rm(root, { recursive: true, force: true });
});

it.each([
  ['.PHONY: install\ngenerate: x\nmanifests: y ## Generate\ninstall: manifests\n', 'make manifests install'],
  ['install : x\nmanifests := y\n', 'make install'],
  ['crds:\n\tfoo\ninstall-crds: crds', 'make crds install-crds'],
  ['', 'Apply the new CRD to the cluster.'],
])('names the targets that the Makefile has: %j', async (makefile, command) => {
  await writeFile(join(root, 'Makefile'), makefile);
  expect(await updateCommand(root)).toBe(command);
});

it('names kubectl where no target applies the CRDs', async () => {
  await mkdir(join(root, 'config/crd/bases'), { recursive: true });
  expect(await updateCommand(root)).toBe('kubectl apply --server-side -f config/crd/bases');
  await writeFile(join(root, 'Makefile'), 'manifests:\n');
  expect(await updateCommand(root)).toBe('make manifests && kubectl apply --server-side -f config/crd/bases');
});

it('warns once for each kind, and not of what a new CRD does not mend', async () => {
  const events: DevloopEvent[] = [];
  const notice = createPrunedNotice(root, (event) => void events.push(event));
  const review = (kind: string, ...pruned: PrunedField[]): void => {
    const ms = { held: 0, controller: 1, total: 1, budget: 1 };
    notice.observe({
      ...{ type: 'review', id: 'r-000001', at: '', kind: 'admission', webhook: 'w', path: '/w' },
      ...{ verdict: 'allowed', ms, resource: { group: 'shop', version: 'v1', kind }, pruned },
    });
  };
  review('Paint', { field: 'status.phase', why: 'status-subresource' });
  review('Paint', { field: 'spec.colour', why: 'not-in-crd' });
  review('Paint', { field: 'spec.size', why: 'not-in-crd' });
  review('Brush', { field: 'spec.size', why: 'not-in-crd' });
  await eventually(async () => expect(events).toHaveLength(2));
  expect(events).toMatchObject([
    { type: 'warning', message: expect.stringContaining('spec.colour of each Paint') },
    { type: 'warning', message: expect.stringContaining('spec.size of each Brush') },
  ]);
});

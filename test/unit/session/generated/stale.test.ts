import { chmod, mkdir, readFile, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { DevloopEvent } from '../../../../src/report/events.ts';
import { noticeStale } from '../../../../src/session/generated/stale.ts';
import { directoryWith, put } from '../../controller/support/places.ts';

const FILE = 'config/crd/shops.yaml';

function crd(...fields: string[]): string {
  const properties = Object.fromEntries(fields.map((name) => [name, { type: 'string' }]));
  const schema = { openAPIV3Schema: { type: 'object', properties } };
  const versions = [{ name: 'v1', served: true, storage: true, schema }];
  const metadata = { name: 'shops.example.com' };
  return stringify({ kind: 'CustomResourceDefinition', metadata, spec: { scope: 'Namespaced', versions } });
}

/** What is said of a checkout whose code has these fields, and whose CRD has others. */
async function said(code: string[], before: string[] | undefined, hasGo = true) {
  const root = await directoryWith({
    Makefile: 'manifests:\n\tcontroller-gen crd paths=./...\n',
    'shop.go': 'package v1\n\n// +kubebuilder:object:root=true\ntype Shop struct{}\n',
    'tools/crd.yaml': crd(...code),
    ...(before && { [FILE]: crd(...before) }),
  });
  const script =
    'for word; do case $word in output:*) place=$(echo "$word" | cut -d"\\"" -f2); esac; done\nmkdir -p "$place" && cp tools/crd.yaml "$place/shops.yaml"\n';
  const program = await put(root, 'tools/controller-gen', `#!/bin/sh\n${script}`);
  await chmod(program, 0o755);
  if (!hasGo) await rm(program);
  if (before) await utimes(join(root, FILE), new Date(0), new Date(0));
  const scratch = join(root, 'scratch');
  await mkdir(scratch);
  const events: Extract<DevloopEvent, { type: 'warning' }>[] = [];
  const env = { ...process.env, PATH: [join(root, 'tools'), ...(hasGo ? [process.env.PATH] : [])].join(':') };
  const signal = new AbortController().signal;
  await noticeStale({ root, scratch }, { env, signal, emit: (event) => void events.push(event as never) });
  if (before) expect(await readFile(join(root, FILE), 'utf8')).toBe(crd(...before));
  return events.map(({ code, values }) => ({ code, values }));
}

const command = 'make manifests';

test('what make manifests would change is said once for each file, and nothing else', async () => {
  expect(await said(['size', 'colour'], ['size', 'weight'])).toEqual([
    {
      code: 'manifests.old',
      values: { file: FILE, changes: ['colour is missing', 'weight is left over'], command },
    },
  ]);
  expect(await said(['size'], undefined)).toEqual([
    { code: 'manifests.missing', values: { file: FILE, command } },
  ]);
  expect(await said(['size'], ['size'])).toEqual([]);
});

test('without controller-gen and go, the next step is to install go', async () => {
  expect(await said(['size'], ['colour'], false)).toMatchObject([
    { code: 'manifests.maybe-old', values: { command: expect.stringContaining('go.dev') } },
  ]);
});

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import type { KubeObject } from '../../../src/cluster/api/objects.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { manifestText } from '../../../src/report/manifest.ts';
import { followManifests } from '../../../src/session/manifests.ts';
import { eventually } from '../../support/eventually.ts';
import { refusal } from '../../support/fake-cluster.ts';
import { clusterWithTable } from '../../support/operators.ts';
import { directoryWith } from '../controller/support/places.ts';

const FILE = 'config/crd/bases/orders.yaml';

function definition(...fields: string[]): KubeObject & Record<string, unknown> {
  const properties = Object.fromEntries(fields.map((name) => [name, { type: 'string' }]));
  const schema = { openAPIV3Schema: { type: 'object', properties } };
  return {
    kind: 'CustomResourceDefinition',
    metadata: { name: 'orders.shop.example.com' },
    spec: {
      ...{ group: 'shop.example.com', scope: 'Namespaced', names: { kind: 'Order', plural: 'orders' } },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  };
}

async function followed(...fields: string[]) {
  const root = await directoryWith({ [FILE]: stringify(definition(...fields)) });
  const cluster = clusterWithTable();
  cluster.put<KubeObject>('CustomResourceDefinition', definition('size'));
  const lines: string[] = [];
  const ending = new AbortController();
  const emit = (event: DevloopEvent): void => {
    if (event.type === 'manifest') lines.push(manifestText(event));
  };
  const what = { root, groups: new Set(['shop.example.com']), target: { namespace: 'shop', services: [] } };
  const follow = (): void => {
    const following = followManifests(what, { api: cluster.api, emit, signal: ending.signal });
    onTestFinished(async () => {
      ending.abort();
      await following;
    });
  };
  const write = (...now: string[]): Promise<void> =>
    writeFile(join(root, FILE), stringify(definition(...now)));
  return { cluster, lines, write, follow };
}

test('a difference is reported at the start, when a file changes it, and when it is gone, each once', async () => {
  const { lines, write, follow } = await followed('size', 'colour');
  follow();
  await eventually(async () => expect(lines).toEqual([expect.stringContaining('colour is only here')]));
  // Until the directory is watched, a change is not noticed.
  await eventually(async () => {
    await write('size', 'weight');
    expect(lines.at(-1)).toContain('weight is only here');
  });
  await write('size');
  await eventually(async () => expect(lines.at(-1)).toContain('the same'));
  expect(lines).toHaveLength(3);
});

test('nothing is reported if nothing differs, or if the cluster does not say', async () => {
  const { lines, cluster, follow } = await followed('size', 'colour');
  cluster.hook.before = () => {
    throw refusal(500, 'InternalError');
  };
  follow();
  const same = await followed('size');
  same.follow();
  const other = await followed('size', 'colour');
  other.follow();
  await eventually(async () => expect(other.lines).toHaveLength(1));
  expect([...lines, ...same.lines]).toEqual([]);
});

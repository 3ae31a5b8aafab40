import { readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestCluster } from '../cluster/cluster.ts';
import { callWarnings } from '../support/call-warnings.ts';
import { type DevloopRun, startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { LAYOUTS } from '../support/layouts/all.ts';
import { CLUSTER_ANSWER, type LayoutCluster, startLayouts } from '../support/layouts/cluster.ts';
import { LANGUAGE_LAYOUTS } from '../support/layouts/languages.ts';
import { answerPath, FIRST_ANSWER, type Layout } from '../support/layouts/layout.ts';
import { inSoak } from '../support/repeat.ts';
import { snapshot } from '../support/snapshot.ts';

/**
 * The two layouts in which discovery has most to do: in one, the program reads its key pair elsewhere; in the other, the API types are in
 * another module. And one operator in each other language that takes no compiler.
 */
const layouts = inSoak([...LAYOUTS, ...LANGUAGE_LAYOUTS], 'bundle', 'workspace', 'kopf', 'node');
const EDITED = 'the edited laptop says no';

describe('an operator is taken over without configuration, whatever the layout of its repository', () => {
  let all: LayoutCluster;

  beforeAll(async () => {
    all = await startLayouts(layouts.map(([, layout]) => layout));
  });

  afterAll(() => all?.[Symbol.asyncDispose]());

  it.each(layouts)('%s', async (name, layout) => {
    const { cluster, directories, ask } = all;
    const cwd = directories.get(name)!;
    const env = { KUBECONFIG: cluster.kubeconfig };
    const before = await snapshot(cluster, name);
    await using up = startDevloop(['up'], { cwd, env });
    await up.waitFor('session.ready');
    expect(await ask(name)).toContain(FIRST_ANSWER);
    const package_ = await up.waitFor(
      'discovered',
      ({ what }) => what === 'main package' || what === 'program',
    );
    expect(package_.value).toContain(layout.main.package.replace(/^\.\//, ''));
    if (layout.notes) await expectNoted(cluster, up);
    await edit(layout, cwd);
    await up.waitFor('controller.replaced');
    expect(await ask(name)).toContain(EDITED);
    up.signal('SIGINT');
    expect(await up.exited, up.log()).toBe(130);
    expect(callWarnings(up.events)).toEqual([]);
    await eventually(async () => expect(await snapshot(cluster, name)).toEqual(before));
    expect(await ask(name)).toContain(CLUSTER_ANSWER);
  });
});

/** A write of a program without reconciles is shown with what changed before it. */
async function expectNoted(cluster: TestCluster, up: DevloopRun): Promise<void> {
  const kubectl = (...args: string[]): Promise<string> => cluster.kubectl(['-n', 'default', ...args]);
  await kubectl('create', 'serviceaccount', 'noted');
  await kubectl('label', 'serviceaccount', 'noted', 'shop=main');
  await kubectl('annotate', 'serviceaccount', 'noted', 'size=5');
  const call = await up.waitFor('call', ({ changes = [] }) =>
    changes.includes('+metadata.annotations.noted=5'),
  );
  expect(call).toMatchObject({
    verb: 'patch',
    kind: 'ServiceAccount',
    namespace: 'default',
    name: 'noted',
    code: 200,
  });
  expect(call.after).toContainEqual(
    expect.objectContaining({ what: 'changed', changes: ['+metadata.annotations'] }),
  );
  await kubectl('delete', 'serviceaccount', 'noted');
}

/** Saves the file with a change in the one line that has the message. */
async function edit(layout: Layout, directory: string): Promise<void> {
  const file = join(directory, relative(layout.startIn, '.'), answerPath(layout));
  await writeFile(file, (await readFile(file, 'utf8')).replace(FIRST_ANSWER, EDITED));
}

import { readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { LAYOUTS } from '../support/layouts/all.ts';
import { CLUSTER_ANSWER, type LayoutCluster, startLayouts } from '../support/layouts/cluster.ts';
import { answerPath, FIRST_ANSWER, type Layout } from '../support/layouts/layout.ts';
import { inSoak } from '../support/repeat.ts';
import { snapshot } from '../support/snapshot.ts';

/**
 * The two layouts in which discovery has most to do: in one, the program reads its key pair elsewhere; in the other, the API types are in
 * another module.
 */
const layouts = inSoak(LAYOUTS, 'bundle', 'workspace');
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
    const package_ = await up.waitFor('discovered', ({ what }) => what === 'main package');
    expect(package_.value).toContain(layout.main.package.replace(/^\.\//, ''));
    await edit(layout, cwd);
    await up.waitFor('controller.replaced');
    expect(await ask(name)).toContain(EDITED);
    up.signal('SIGINT');
    expect(await up.exited, up.log()).toBe(130);
    await eventually(async () => expect(await snapshot(cluster, name)).toEqual(before));
    expect(await ask(name)).toContain(CLUSTER_ANSWER);
  });
});

/** Saves the file with a change in the one line that has the message. */
async function edit(layout: Layout, directory: string): Promise<void> {
  const file = join(directory, relative(layout.startIn, '.'), answerPath(layout));
  await writeFile(file, (await readFile(file, 'utf8')).replace(FIRST_ANSWER, EDITED));
}

import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { selfSignedPair } from '../../src/certificates/self-signed.ts';
import { Checkout } from '../../src/checkout/files.ts';
import { findMainPackage } from '../../src/checkout/go/main-package.ts';
import { connect } from '../../src/cluster/api/client.ts';
import { loadKubeconfig } from '../../src/cluster/api/kubeconfig.ts';
import { checkoutFacts } from '../../src/languages.ts';
import { ensureClusterBinaries } from '../cluster/build.ts';
import { startCluster, type TestCluster } from '../cluster/cluster.ts';
import { LAYOUTS } from '../support/layouts/all.ts';
import { askLayout, objectsOf, serverNameOf } from '../support/layouts/cluster.ts';
import { answerPath, FIRST_ANSWER, type Layout, makeRepository } from '../support/layouts/layout.ts';
import { report } from './figures.ts';
import { atRest } from './loop/at-rest.ts';
import { firstAnswer, startUp, stop } from './loop/sample.ts';
import { ROUNDS, Rounds, timeOne } from './measure.ts';

const ENV = { ...process.env, CGO_ENABLED: '0' };

/** What devloop takes to find out how a repository is laid out, and to take its operator over. */
export async function layoutFigures(): Promise<void> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'devloop-bench-')));
  try {
    await using cluster = await startCluster({ certManager: false, log: (line) => console.error(line) });
    const { pause } = await ensureClusterBinaries({ log: (line) => console.error(line) });
    // Stands in for the image of the only sidecar.
    await cluster.loadImage('gcr.io/kubebuilder/kube-rbac-proxy:v0.5.0', pause);
    for (const [, layout] of LAYOUTS) {
      const directory = await makeRepository(layout, base);
      await discoveryFigure(layout, directory);
      await upFigure(layout, { base, directory, cluster });
    }
  } finally {
    await rm(base, { recursive: true, force: true });
  }
}

async function discoveryFigure(layout: Layout, directory: string): Promise<void> {
  const { name, main, container, webhook, startIn } = layout;
  const { command = [], image, name: own } = container;
  const hints = { command, image, container: own, workload: name, paths: [webhook.path] };
  const cwd = join(directory, relative(startIn, main.module));
  const rounds = new Rounds();
  for (let round = -1; round < ROUNDS; round++) {
    const started = performance.now();
    await Promise.all([
      checkoutFacts(new Checkout(directory)),
      findMainPackage(new Checkout(directory), hints),
    ]);
    const ours = performance.now() - started;
    const list = await timeOne(['go', 'list', '-deps', main.package], { cwd, env: ENV });
    if (round >= 0) rounds.add({ ours, list });
  }
  const anchor = { name: 'go list -deps', value: rounds.median('list') };
  report({
    name: `discovery (${name})`,
    ours: rounds.median('ours'),
    unit: 'ms',
    anchor,
    goal: { most: 1.5 },
  });
}

interface Place {
  base: string;
  directory: string;
  cluster: TestCluster;
}

async function upFigure(layout: Layout, { base, directory, cluster }: Place): Promise<void> {
  const { name } = layout;
  const images: { text: string; binary: string }[] = [];
  for (const text of ['one Pod says no', 'another Pod says no'])
    images.push({ text, binary: await buildSaying(text, layout, base) });
  await cluster.loadImage(layout.container.image!, images[0]!.binary);
  const pair = await selfSignedPair([serverNameOf(name)], { days: 10 });
  const items = objectsOf({ ...layout, container: atRoot(layout.container) }, pair);
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  await cluster.kubectl(['create', '-f', '-'], { input });
  await using api = await connect(await loadKubeconfig({ kubeconfig: cluster.kubeconfig }, {}, '/'));
  const reviewer = { ask: () => askLayout(api, name) };
  await firstAnswer(reviewer, images[0]!.text, performance.now());
  const rounds = new Rounds();
  for (let round = 0; round <= ROUNDS; round++) {
    await atRest(cluster, name);
    const started = performance.now();
    const starting = startUp({ directory, env: { ...ENV, KUBECONFIG: cluster.kubeconfig } });
    const up = await firstAnswer(reviewer, FIRST_ANSWER, started);
    await stop(await starting);
    const next = images[(round + 1) % 2]!;
    await cluster.loadImage(layout.container.image!, next.binary);
    await atRest(cluster, name);
    const restarted = performance.now();
    await cluster.kubectl(['-n', name, 'rollout', 'restart', `deployment/${name}`]);
    const restart = await firstAnswer(reviewer, next.text, restarted);
    await cluster.kubectl(['-n', name, 'rollout', 'status', `deployment/${name}`, '--timeout=60s']);
    if (round > 0) rounds.add({ up, restart });
  }
  const anchor = { name: 'rollout restart', value: rounds.median('restart') };
  report({
    name: `up to first answer (${name})`,
    ours: rounds.median('up'),
    unit: 'ms',
    anchor,
    goal: { most: 1 },
  });
  await cluster.kubectl(['delete', 'validatingwebhookconfiguration', name]);
}

/** These images have their program in the root directory, and nothing else. */
function atRoot(container: Layout['container']): Layout['container'] {
  const [program, ...args] = container.command ?? [];
  return program === undefined ? container : { ...container, command: [`/${basename(program)}`, ...args] };
}

/**
 * Builds the manager from a copy of the repository. The program's file is the entrypoint of the image, so it has the name of the command.
 */
async function buildSaying(text: string, layout: Layout, base: string): Promise<string> {
  const copy = await mkdtemp(join(base, 'image-'));
  await makeRepository(layout, copy);
  const repository = join(copy, layout.name);
  const file = join(repository, answerPath(layout));
  await writeFile(file, (await readFile(file, 'utf8')).replace(FIRST_ANSWER, text));
  const binary = join(copy, 'image', basename(layout.container.command?.[0] ?? layout.name));
  const cwd = join(repository, layout.main.module);
  await timeOne(['go', 'build', '-o', binary, layout.main.package], { cwd, env: ENV });
  return binary;
}

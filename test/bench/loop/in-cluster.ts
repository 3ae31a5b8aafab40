import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../support/eventually.ts';
import { checkoutSample, DEPLOYMENT, IMAGE, NAMESPACE, rolledOut } from '../../support/sample-operator.ts';
import { type Taken, timeOne } from '../measure.ts';
import { atRest } from './at-rest.ts';
import { createContext, startDocker } from './docker.ts';
import { editIn, firstAnswer, type Loop } from './sample.ts';

/** What people do without devloop: the operator's Pod runs their edited code. */
export interface InCluster extends AsyncDisposable {
  /**
   * `image` is the time from an edit to the first review that the edited code answers: Docker builds the image, it is loaded into the node,
   * and the Deployment is rolled out. `restart` is the time of a rollout alone, when the node already has the image.
   */
  rollOut(): Promise<Taken>;
}

/** A program to roll out, and what its webhook refuses with. */
interface Built {
  binary: string;
  text: string;
}

export async function createInCluster(loop: Loop): Promise<InCluster> {
  await using stack = new AsyncDisposableStack();
  const { directory } = stack.use(await checkoutSample());
  const scratch = await mkdtemp(join(tmpdir(), 'devloop-bench-'));
  stack.defer(() => rm(scratch, { recursive: true }));
  const docker = stack.use(await startDocker());
  const context = await createContext(scratch);
  const archive = join(scratch, 'image.tar');
  // The image's entrypoint is named after the program's file.
  const built: Built[] = [];
  for (const name of ['one', 'other']) built.push(await editAndBuild(loop, directory, join(scratch, name)));
  const resources = stack.move();
  let rollouts = 0;
  return {
    async rollOut() {
      const started = performance.now();
      const { text } = await editAndBuild(loop, directory, context);
      await docker.buildAndSave(IMAGE, context, archive);
      await loop.cluster.importImage(archive);
      const image = await restarted(loop, text, started);
      const next = built[rollouts++ % built.length]!;
      await loop.cluster.loadImage(IMAGE, next.binary);
      await atRest(loop.cluster, NAMESPACE);
      return { image, restart: await restarted(loop, next.text, performance.now()) };
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** The command of the sample's Dockerfile, with Go's build cache as warm as for devloop. In the Dockerfile itself, it has no cache. */
async function editAndBuild(loop: Loop, directory: string, out: string): Promise<Built> {
  const text = await editIn(directory);
  const binary = join(out, 'manager');
  const flags = ['-trimpath', '-ldflags=-s -w'];
  const env = loop.env as NodeJS.ProcessEnv;
  await timeOne(['go', 'build', ...flags, '-o', binary, './cmd'], { cwd: directory, env });
  return { binary, text };
}

/** Milliseconds from `since` to the first answer of a new Pod. Resolves when the old Pod is gone. */
async function restarted(loop: Loop, text: string, since: number): Promise<number> {
  const { cluster, reviewer } = loop;
  await cluster.kubectl(['-n', NAMESPACE, 'rollout', 'restart', `deployment/${DEPLOYMENT}`]);
  const answered = await firstAnswer(reviewer, text, since);
  loop.inCluster = text;
  await rolledOut(cluster);
  await eventually(async () => {
    const pods = await cluster.kubectl(['-n', NAMESPACE, 'get', 'pods', '-o', 'name']);
    if (pods.trim().split('\n').length > 1) throw new Error(`still running: ${pods}`);
  });
  return answered;
}

/**
 * `npm run demo`: devloop runs the sample operator with an API server of its own, and the demo edits its code. With `--cluster` or `--context`,
 * devloop takes the operator over in a Kubernetes cluster, and restores the cluster. The demo runs every command that it shows and prints its real output. It fails if an output is not as expected.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { shellWord } from '../src/phrases.ts';
import { checkoutSample } from '../test/support/sample-operator.ts';
import { openBox } from './demo/box.ts';
import { commitAll } from './demo/commit.ts';
import { openContext } from './demo/context.ts';
import { openEmbedded } from './demo/embedded.ts';
import { shareBuilds } from './demo/go-settings.ts';
import {
  forget,
  forgetGone,
  keepHints,
  kept,
  keptAnyway,
  remember,
  removeCheckout,
  stopKept,
} from './demo/kept.ts';
import { createLogs } from './demo/logs.ts';
import { createNarrator } from './demo/narrator.ts';
import { keptOnDisk } from './demo/on-disk.ts';
import { type DemoOptions, parseOptions, USAGE } from './demo/options.ts';
import { type DemoCluster, Refusal, type Stage } from './demo/stage.ts';
import { tell } from './demo/story.ts';

const GO_ON =
  'To see devloop take over an operator that runs in a Pod of a whole cluster: npm run demo -- --cluster\nThat compiles the rest of Kubernetes first. It needs Debian or Ubuntu, and root.\n';
const tryIt = (options: string, what: string): string =>
  `To try it yourself: npm run demo -- ${options}--keep\nThat keeps ${what} with a file to edit, internal/webhook/v1/application_webhook.go; npm run demo -- --stop deletes it.`;

const ROOT = join(import.meta.dirname, '..');
const narrator = createNarrator(process.stdout);
const leaving = new AbortController();

// A pipe to `head` may end before the demo has cleaned up.
process.stdout.on('error', () => {});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (leaving.signal.aborted) return;
    narrator.say(`${signal}: the demo is cleaning up.`);
    leaving.abort(new Refusal(`interrupted by ${signal}`));
  });
}
process.exit(await main(process.argv.slice(2)));

async function main(args: string[]): Promise<number> {
  const logs = await createLogs();
  try {
    const options = parseOptions(args);
    if (options.help) console.log(USAGE);
    else if (options.stop) await stop();
    else await demo(options, logs);
    await logs.remove();
    return 0;
  } catch (error) {
    if (leaving.signal.aborted) {
      await logs.remove();
      return 130;
    }
    narrator.fail(
      error instanceof Refusal ? error.message : String(error instanceof Error ? error.stack : error),
    );
    if (await logs.hasAny()) narrator.say(`The logs are in ${logs.directory}`);
    else await logs.remove();
    return 1;
  }
}

async function stop(): Promise<void> {
  if ((await kept())?.clusterDirectory !== undefined)
    narrator.say('Stopping the kept demo, which takes up to half a minute.');
  narrator.say(`${await stopKept()}\n\n${await keptOnDisk()}`);
}

async function demo(options: DemoOptions, logs: Stage['logs']): Promise<void> {
  const { signal } = leaving;
  await shareBuilds();
  if (options.keep) await requireNoneKept();
  const started = performance.now();
  if (!existsSync(join(ROOT, 'dist/main.js'))) throw new Refusal('devloop is not built: npm run build');
  await using stack = new AsyncDisposableStack();
  const checkout = await checkoutSample();
  await commitAll(checkout.directory);
  let stays = false;
  stack.defer(async () => {
    // After Ctrl-C nothing is kept.
    if (stays && !signal.aborted) return;
    if (stays) await forget();
    await removeCheckout(checkout.directory);
  });
  const cluster = await open(options, { checkout: checkout.directory, logs, narrator, signal });
  stack.use(cluster);
  if (options.keep) {
    await remember(cluster.kept);
    stays = true;
  }
  const begun = performance.now();
  try {
    await tell({ cluster, checkout: checkout.directory, logs, narrator, signal });
  } catch (error) {
    if (stays && !signal.aborted) narrator.say(keptAnyway(cluster.kept));
    throw error;
  }
  const seconds = (from: number, to: number): number => Math.round((to - from) / 1000);
  const ended = performance.now();
  const before = cluster.embedded ? 'etcd and kube-apiserver' : 'the cluster and the operator in it';
  narrator.say(
    `\nThat was devloop, in ${seconds(begun, ended)} s, after ${seconds(started, begun)} s for ${before}.`,
  );
  narrator.say(await end(options, cluster));
}

async function requireNoneKept(): Promise<void> {
  const old = await kept();
  if (old === undefined) return;
  const gone = await forgetGone(old);
  if (gone === undefined)
    throw new Refusal(
      `your account already has a kept demo. To delete it, with your edits in ${old.checkout}: npm run demo -- --stop\nTo use it, in any terminal:\n${keepHints(old)}`,
    );
  narrator.say(gone);
}

async function open(
  { cluster, context, keep }: DemoOptions,
  stage: Omit<Stage, 'cluster'>,
): Promise<DemoCluster> {
  if (context !== undefined) return await openContext({ ...stage, keep, context });
  return cluster ? await openBox({ ...stage, keep }) : await openEmbedded(stage);
}

/** How to go on. */
async function end(
  { keep, cluster, context }: DemoOptions,
  { embedded, kept: left }: DemoCluster,
): Promise<string> {
  if (keep)
    return `\n${embedded ? 'The checkout is kept.' : 'The cluster keeps running.'}\n${keepHints(left)}`;
  const which = cluster ? '--cluster ' : context === undefined ? '' : `--context ${shellWord(context)} `;
  const what = embedded ? 'a checkout' : 'the cluster and a checkout';
  return `\n${await keptOnDisk()}\n\n${embedded ? `${GO_ON}\n` : ''}${tryIt(which, what)}`;
}

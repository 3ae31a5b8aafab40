import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestCluster } from '../../cluster/cluster.ts';
import { type DevloopRun, startDevloop } from '../../support/devloop.ts';
import type { Reviewer } from '../../support/reviews.ts';

/** The sample operator, in a cluster, and in a checkout from which devloop runs it. */
export interface Loop {
  /** How kube-apiserver reaches webhooks; part of each figure's name. */
  name: string;
  cluster: TestCluster;
  reviewer: Reviewer;
  env: Record<string, string | undefined>;
  directory: string;
  /** The messages with which the webhook of the checkout, and the one of the image in the cluster, deny an object. */
  text: string;
  inCluster: string;
}

const WEBHOOK = 'internal/webhook/v1/application_webhook.go';
/** Asking without pauses would take processor time from the compiler and the cluster. */
const ASK_EVERY_MS = 25;
const ANSWER_LIMIT_MS = 120_000;
/**
 * A call to a Pod that has just ended hangs for ten seconds, while the next call is answered. So the next call is sent after this time,
 * even if the one before has no answer.
 */
const HANGING_MS = 500;

let edits = 0;

/** Changes the message with which the webhook of a checkout denies an object to one that was never used before, and returns it. */
export async function editIn(directory: string): Promise<string> {
  const text = `answer number ${++edits}.`;
  const file = join(directory, WEBHOOK);
  const source = await readFile(file, 'utf8');
  await writeFile(file, source.replace(/imageRequired = ".*"/, `imageRequired = "${text}"`));
  return text;
}

/** Edits the checkout from which devloop runs the operator. */
export async function edit(loop: Loop): Promise<string> {
  loop.text = await editIn(loop.directory);
  return loop.text;
}

/** Resolves when `devloop up` is ready. */
export async function startUp(
  { directory, env }: Pick<Loop, 'directory' | 'env'>,
  args: string[] = [],
): Promise<DevloopRun> {
  const run = startDevloop(['up', ...args], { cwd: directory, env: env as Record<string, string> });
  await run.waitFor('session.ready', undefined, 300_000);
  return run;
}

export async function stop(run: DevloopRun): Promise<void> {
  run.signal('SIGINT');
  await run.exited;
}

/** Milliseconds from `since` to the first review that is answered with `text`. */
export async function firstAnswer(
  reviewer: Pick<Reviewer, 'ask'>,
  text: string,
  since: number,
): Promise<number> {
  let last = '';
  let answered: number | undefined;
  const ask = async (): Promise<void> => {
    last = await reviewer.ask();
    if (last.includes(text)) answered ??= performance.now() - since;
  };
  while (performance.now() - since < ANSWER_LIMIT_MS) {
    await Promise.race([ask(), sleep(HANGING_MS)]);
    if (answered !== undefined) return answered;
    await sleep(ASK_EVERY_MS);
  }
  throw new Error(`no review was answered with "${text}" within ${ANSWER_LIMIT_MS} ms; the last: ${last}`);
}

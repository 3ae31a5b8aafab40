import { setTimeout as pause } from 'node:timers/promises';
import { type ClusterApi, connect } from '../../src/cluster/api/client.ts';
import { loadKubeconfig } from '../../src/cluster/api/kubeconfig.ts';

const PATH = '/apis/apps.example.com/v1/namespaces/default/applications';

/** Causes real admission reviews. */
export interface Reviewer {
  /** The webhook's refusal, `accepted`, or the API server's own error. */
  ask(): Promise<string>;
}

/** Sends server-side dry runs of an Application without an image, which the webhook refuses. */
export async function createReviewer(kubeconfig: string): Promise<Reviewer & AsyncDisposable> {
  const api: ClusterApi = await connect(await loadKubeconfig({ kubeconfig }, {}, process.cwd()));
  let count = 0;
  return {
    async ask() {
      const object = {
        apiVersion: 'apps.example.com/v1',
        kind: 'Application',
        metadata: { name: `bench-${count++}` },
        spec: { image: '' },
      };
      try {
        await api.call('POST', PATH, object, { query: { dryRun: 'All' } });
        return 'accepted';
      } catch (error) {
        return (error as Error).message;
      }
    },
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  };
}

/** The time from `since` until a review is answered with `text`. */
export async function untilAnswered(
  reviewer: Reviewer,
  text: string,
  since: number,
  limitMs = 120_000,
): Promise<number> {
  for (let last = ''; performance.now() - since < limitMs; ) {
    last = await reviewer.ask();
    if (last.includes(text)) return performance.now() - since;
    await pause(4);
    if (performance.now() - since >= limitMs)
      throw new Error(`no review was answered with "${text}"; the last one said: ${last}`);
  }
  throw new Error(`no review was answered with "${text}"`);
}

/** At a constant rate, however long the answers take. */
export async function load(
  reviewer: Reviewer,
  perSecond: number,
  until: Promise<unknown>,
  isGood: (answer: string) => boolean,
): Promise<{ asked: number; failures: string[]; slowestMs: number }> {
  const result = { asked: 0, failures: [] as string[], slowestMs: 0 };
  const pending = new Set<Promise<void>>();
  let going = true;
  until.finally(() => (going = false)).catch(() => {});
  const started = performance.now();
  while (going) {
    const due = started + (result.asked * 1000) / perSecond;
    const wait = due - performance.now();
    if (wait > 0) await pause(wait);
    result.asked++;
    const asked = performance.now();
    const one = reviewer.ask().then((answer) => {
      result.slowestMs = Math.max(result.slowestMs, performance.now() - asked);
      if (!isGood(answer)) result.failures.push(answer);
      pending.delete(one);
    });
    pending.add(one);
  }
  await Promise.all(pending);
  return result;
}

/** Each costs one or two hundredths of a second of processor time. */
const PER_SECOND = 15;

/** Sends reviews at a constant rate until `work` is done. Returns the answers that were not good. */
export async function failuresWhile(
  reviewer: Reviewer,
  work: Promise<unknown>,
  isGood: (answer: string) => boolean,
): Promise<string[]> {
  const { failures } = await load(reviewer, PER_SECOND, work, isGood);
  await work;
  return failures;
}

/** Sends reviews at the same rate from a moment before the end to a moment after it. Returns those that neither program answered. */
export async function lostWhileEnding(
  reviewer: Reviewer,
  end: () => Promise<unknown>,
  isGood = (answer: string) => /no image|needs an image|answered here/.test(answer),
): Promise<string[]> {
  const ended = pause(500)
    .then(end)
    .then(() => pause(300));
  return await failuresWhile(reviewer, ended, isGood);
}

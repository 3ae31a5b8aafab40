import { randomUUID } from 'node:crypto';
import { Agent } from 'node:https';
import type { PathStep } from '../config/json-path.ts';
import { messageOf } from '../errors.ts';
import { postToController } from '../gateway/controller-post.ts';
import type { Answer } from '../gateway/http.ts';
import type { DevloopEvent } from '../report/events.ts';
import { differences, isSameAnswer } from './compare.ts';
import { asDryRun, USUAL_PORT } from './export.ts';
import { type ReviewRecord, summaryOf } from './record.ts';
import { redact } from './redact.ts';
import { askedBy } from './show.ts';
import { recordOf } from './summarize.ts';

export interface ReplayOptions {
  /** The fields that the user wants replaced in answers, too. */
  paths: PathStep[][];
  /** Whether reviews are also sent to webhooks that declare side effects. */
  withSideEffects: boolean;
  /** Ports for which reviews were recorded, each with the port on which the controller listens instead. */
  moved?: ReadonlyMap<number, number>;
  atOnce: number;
  signal: AbortSignal;
  onReplayed(replayed: Replayed): void;
}

/** One review that was sent again, or why it was not. */
export type Replayed = { before: ReviewRecord } & (
  | { result: 'same' }
  | { result: 'changed'; after: ReviewRecord; differences: ReturnType<typeof differences> }
  | { result: 'left-out'; why: string }
);

export type ReplayCount = Record<'replayed' | 'changed' | 'leftOut', number>;

/**
 * Sends recorded reviews to the controller again, each with a new uid and as a dry run, and compares the answers. Reports them in the order
 * of the records. Rejects if the signal aborts; anything that the controller does counts as an answer.
 */
export async function replay(records: ReviewRecord[], options: ReplayOptions): Promise<ReplayCount> {
  const { atOnce, signal, onReplayed } = options;
  const ended = new AbortController();
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
  const asking: Asking = { agent, signal: AbortSignal.any([signal, ended.signal]) };
  const count: ReplayCount = { replayed: 0, changed: 0, leftOut: 0 };
  const running: Promise<Replayed>[] = [];
  const report = async (): Promise<void> => {
    const one = await running.shift()!;
    signal.throwIfAborted();
    if (one.result === 'left-out') count.leftOut += 1;
    else count.replayed += 1;
    if (one.result === 'changed') count.changed += 1;
    onReplayed(one);
  };
  try {
    for (const record of records) {
      running.push(replayOne(record, asking, options));
      if (running.length >= 2 * atOnce) await report();
    }
    while (running.length > 0) await report();
    return count;
  } finally {
    ended.abort();
    await Promise.allSettled(running);
    agent.destroy();
  }
}

/** The connections, and the signal that ends the requests that have no answer yet. */
interface Asking {
  agent: Agent;
  signal: AbortSignal;
}

async function replayOne(before: ReviewRecord, asking: Asking, options: ReplayOptions): Promise<Replayed> {
  const why = whyLeftOut(before, options.withSideEffects);
  if (why !== undefined) return { before, result: 'left-out', why };
  const after = await askAgain(before, asking, options);
  if (after === 'same') return { before, result: 'same' };
  // A set may have been edited, or recorded when fewer names counted as names of secrets.
  const found = differences(redactedAgain(before, options), after);
  return found.length === 0
    ? { before, result: 'same' }
    : { before, result: 'changed', after, differences: found };
}

function redactedAgain(before: ReviewRecord, { paths }: ReplayOptions): ReviewRecord {
  const isSecret = before.resource?.kind === 'Secret';
  return redact(before, { isSecret, paths, object: askedBy(before.request).object }).value;
}

function whyLeftOut(record: ReviewRecord, withSideEffects: boolean): string | undefined {
  const { verdict, kind, request, response, sideEffects } = record;
  if (request === undefined || kind === 'unreadable') return 'its request was not kept';
  if (verdict === 'unanswered' || verdict === 'answered-by-devloop') return 'no controller answered it';
  if (response === undefined && verdict !== 'failed') return 'its answer was not kept';
  if (sideEffects !== undefined && !withSideEffects)
    return `its webhook declares side effects (${sideEffects}): --side-effects sends it anyway`;
  return undefined;
}

/** The answer in the form of a record, so that it is redacted like the recorded one; `same` if no comparison is needed. */
async function askAgain(
  before: ReviewRecord,
  asking: Asking,
  { paths, moved }: ReplayOptions,
): Promise<ReviewRecord | 'same'> {
  const recorded = before.port ?? USUAL_PORT;
  const port = moved?.get(recorded) ?? recorded;
  const { id, path, ms } = before;
  const review = withNewUid(asDryRun(before.request));
  const body = JSON.stringify(review);
  const url = `${path}?timeout=${Math.ceil(ms.budget / 1000)}s`;
  const started = performance.now();
  const answer = await post(asking, { port, path: url, body }, ms.budget).catch((error: unknown) => error);
  const total = performance.now() - started;
  const served = {
    url,
    port,
    at: Date.now(),
    body: Buffer.from(body),
    ms: { ...ms, held: 0, controller: total, total },
  };
  if (isTheSame(before, answer)) return 'same';
  if (!(answer instanceof Error))
    return recordOf({ ...served, answer: answer as Answer }, { id, calls: [], paths });
  return {
    ...recordOf({ ...served, answer: undefined }, { id, calls: [], paths }),
    message: messageOf(answer),
  };
}

function isTheSame(before: ReviewRecord, answer: unknown): boolean {
  if (answer instanceof Error) return false;
  const { status, body } = answer as Answer;
  if (status !== 200 || before.kind !== 'admission') return false;
  try {
    return isSameAnswer(before, JSON.parse(body.toString()).response);
  } catch {
    return false;
  }
}

function withNewUid(review: unknown): unknown {
  const { request } = review as { request?: unknown };
  if (typeof request !== 'object' || request === null) return review;
  return { ...(review as object), request: { ...request, uid: randomUUID() } };
}

async function post(
  { agent, signal }: Asking,
  { port, path, body }: { port: number; path: string; body: string },
  limitMs: number,
): Promise<Answer> {
  signal.throwIfAborted();
  const ending = new AbortController();
  const end = (): void => ending.abort(signal.reason);
  const timer = setTimeout(() => ending.abort(new Error(`no answer within ${limitMs / 1000} s`)), limitMs);
  // AbortSignal.any would take up much of the time that a replay needs.
  signal.addEventListener('abort', end);
  try {
    return { ...(await postToController({ agent, port, path, body, signal: ending.signal })), headers: [] };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}

/** The event that a person or a script sees. */
export function replayedEvent(replayed: Replayed): Extract<DevloopEvent, { type: 'reviews.replayed' }> {
  const { before, result } = replayed;
  return {
    type: 'reviews.replayed',
    review: summaryOf(before),
    result,
    ...(result === 'left-out' ? { why: replayed.why } : {}),
    ...(result === 'changed' ? { differences: replayed.differences } : {}),
    ...(before.redacted === undefined ? {} : { isRedacted: true }),
  };
}

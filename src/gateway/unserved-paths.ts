import { randomUUID } from 'node:crypto';
import { Agent } from 'node:https';
import { sleep } from '../async.ts';
import { postToController } from './controller-post.ts';

/** A path that kube-apiserver calls, and where the controller has to serve it. */
export interface CalledPath {
  path: string;
  /** The port on the loopback interface. */
  port: number;
  /** The name that kube-apiserver requests in its TLS handshake. */
  serverName: string;
  reviews: 'admission' | 'conversion';
}

/**
 * These limits exist because one handler that hangs must not delay reviews for the others. HANDLER_MS counts from the server's own 404 for
 * a path without a handler, because that answer shows how busy the server is.
 */
const SERVER_MS = 10_000;
const HANDLER_MS = 2_000;
const MOST_BYTES = 64 * 1024;
const AT_ONCE = 16;

interface Answer {
  status: number;
  body: string;
}

/** Posts a review to a path, and reads at most `mostBytes` of the answer. Rejects if nothing answers. */
export type PostReview = (
  to: CalledPath,
  body: Buffer,
  limits: { signal: AbortSignal; mostBytes: number },
) => Promise<{ status: number; body: Buffer | string }>;

/**
 * The paths for which the controller's server has no handler: it answers 404 exactly as for a random path. Any other answer comes from a
 * handler, and a missing answer proves nothing. Each path gets a review that no handler can mistake for a real one: it is a dry run, of a
 * kind that does not exist, and without an object. By default this uses connections of its own.
 */
export async function unservedPaths(
  called: CalledPath[],
  signal: AbortSignal,
  postReview?: PostReview,
): Promise<CalledPath[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const post = postReview ?? ((to, body, limits) => postToController({ agent, ...to, body, ...limits }));
  const ended = new AbortController();
  const limited = AbortSignal.any([signal, ended.signal, AbortSignal.timeout(SERVER_MS)]);
  const answerTo = async (one: CalledPath): Promise<Answer | undefined> => {
    const body = Buffer.from(JSON.stringify(emptyReview(one.reviews)));
    const limits = { signal: limited, mostBytes: MOST_BYTES };
    const answer = await post(one, body, limits).catch(() => undefined);
    return answer && { status: answer.status, body: answer.body.toString().replaceAll(one.path, '') };
  };
  const nobodys = new Map<number, Promise<Answer | undefined>>();
  for (const one of called) {
    const unknown = { ...one, path: `/devloop-${randomUUID()}` };
    if (!nobodys.has(one.port)) nobodys.set(one.port, answerTo(unknown));
  }
  void Promise.all(nobodys.values())
    .then(() => sleep(HANDLER_MS, ended.signal))
    .then(() => ended.abort());
  try {
    const areUnserved = await Promise.all(
      called.map(async (one) => isMissing(await answerTo(one), await nobodys.get(one.port))),
    );
    return called.filter((_, index) => areUnserved[index]);
  } finally {
    ended.abort();
    agent.destroy();
  }
}

function isMissing(answer: Answer | undefined, nobodys: Answer | undefined): boolean {
  return answer?.status === 404 && nobodys?.status === 404 && answer.body === nobodys.body;
}

function emptyReview(reviews: CalledPath['reviews']): object {
  const uid = randomUUID();
  if (reviews === 'conversion') {
    const request = { uid, desiredAPIVersion: 'devloop.dev/v1', objects: [] };
    return { apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', request };
  }
  const group = { group: 'devloop.dev', version: 'v1' };
  const kind = { ...group, kind: 'Nothing' };
  const resource = { ...group, resource: 'nothings' };
  const request = {
    // kube-apiserver always sets all four, so some handlers do not check whether they are there.
    ...{ uid, kind, resource, requestKind: kind, requestResource: resource },
    // A webhook that checks creations, updates or deletions has nothing to check for this operation.
    ...{ operation: 'CONNECT', name: '', userInfo: { username: 'devloop' }, dryRun: true },
  };
  return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request };
}

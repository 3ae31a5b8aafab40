import { randomUUID } from 'node:crypto';
import { Agent } from 'node:https';
import { sleep } from '../async.ts';
import { requiresClientCertificate } from '../machine/loopback-tls.ts';
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

export interface Asked {
  /** The paths for which the controller's server has no handler. */
  unserved: CalledPath[];
  /** The paths on which only a real review shows whether there is a handler. */
  unclear: CalledPath[];
  /** Whether the server requires a client certificate, so that it answers nothing. */
  wantsCertificate: boolean;
}

/**
 * Asks the controller's server which paths have no handler: there it answers 404 exactly as for a random path, whatever it is sent. Any
 * other answer comes from a handler, and a missing answer proves nothing. Each path gets a review that no handler can mistake for a real
 * one: it is a dry run, of a kind that does not exist, and without an object. Some servers, such as kopf's, look for a handler by kind, and
 * answer 404 to that review on every path. But they read what they are sent, so they answer differently to something that is no review. By
 * default this uses connections of its own.
 */
export async function askForHandlers(
  called: CalledPath[],
  signal: AbortSignal,
  postReview?: PostReview,
): Promise<Asked> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const post = postReview ?? ((to, body, limits) => postToController({ agent, ...to, body, ...limits }));
  const ended = new AbortController();
  let wantsCertificate = false;
  const limited = AbortSignal.any([signal, ended.signal, AbortSignal.timeout(SERVER_MS)]);
  const answerTo = async (
    one: CalledPath,
    sent = JSON.stringify(emptyReview(one.reviews)),
  ): Promise<Answer | undefined> => {
    const body = Buffer.from(sent);
    const limits = { signal: limited, mostBytes: MOST_BYTES };
    const answer = await post(one, body, limits).catch(async (error: unknown) => {
      const code = (error as NodeJS.ErrnoException | undefined)?.code;
      if (await requiresClientCertificate(code, { ...one, host: '127.0.0.1' })) wantsCertificate = true;
      return undefined;
    });
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
    const judged = await Promise.all(
      called.map(async (one) => {
        const [answer, nobody] = await Promise.all([answerTo(one), nobodys.get(one.port)]);
        if (!isMissing(answer, nobody)) return 'served';
        if (isMissing(await answerTo(one, NO_REVIEW), nobody)) return 'unserved';
        // The handler may have been registered between the two questions.
        return isMissing(await answerTo(one), nobody) ? 'unclear' : 'served';
      }),
    );
    const those = (verdict: (typeof judged)[number]): CalledPath[] =>
      called.filter((_, index) => judged[index] === verdict);
    return { unserved: those('unserved'), unclear: those('unclear'), wantsCertificate };
  } finally {
    ended.abort();
    agent.destroy();
  }
}

function isMissing(answer: Answer | undefined, nobodys: Answer | undefined): boolean {
  return answer?.status === 404 && nobodys?.status === 404 && answer.body === nobodys.body;
}

/** Not even JSON, so a server that looks at it cannot find a kind in it. */
const NO_REVIEW = 'devloop asks whether this path has a handler';

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

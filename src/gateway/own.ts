import { shortened } from '../phrases.ts';
import { type Answer, jsonAnswer, jsonOf, statusAnswer } from './http.ts';

/**
 * What devloop does with a review in place of the controller. `conflict`: the write would fail anyway, since somebody has changed the
 * object. `unknown`: it would be allowed if devloop knew the account. Undefined: devloop does not answer.
 */
export type OwnVerdict = 'allow' | 'conflict' | 'unknown' | undefined;

/** Which reviews devloop answers itself, in place of the controller. */
export interface OwnAnswers {
  /** Whether there may be such a review at the moment. If not, no review is parsed. */
  isExpecting(): boolean;
  /** Judges the `request` of an AdmissionReview. */
  judge(request: object): Promise<OwnVerdict>;
  /** What happens to all other reviews. `refuse`: kube-apiserver applies the failurePolicy, as if nothing had answered. */
  others: 'forward' | 'refuse';
}

/** devloop's own answer; undefined if the controller has to answer. */
export async function answerOwn(
  body: Buffer,
  owns: Iterable<OwnAnswers>,
  signal: AbortSignal,
): Promise<Answer | undefined> {
  const expecting = [...owns].filter((one) => one.isExpecting());
  if (expecting.length === 0) return undefined;
  const review = jsonOf(body) as Review | null | undefined;
  const request = review?.request;
  const verdicts = new Set<OwnVerdict>();
  if (request && typeof request.uid === 'string')
    for (const own of expecting) {
      // Whoever reaches the port can send a request that is none of Kubernetes'.
      const verdict = await unlessAborted(
        own.judge(request).catch(() => undefined),
        signal,
      );
      if (verdict === 'allow' || verdict === 'conflict') return answerOf(review, verdict);
      verdicts.add(verdict);
    }
  if (expecting.every(({ others }) => others === 'forward')) return undefined;
  return statusAnswer(503, verdicts.has('unknown') ? unknown(request!) : OTHERS);
}

interface Review {
  kind?: string;
  apiVersion?: string;
  request?: { uid?: unknown; userInfo?: { username?: unknown } } | null;
}

function answerOf({ kind, apiVersion, request }: Review, verdict: 'allow' | 'conflict'): Answer {
  const status = { code: 409, reason: 'Conflict', message: 'the object has been modified.' };
  const given = verdict === 'allow' ? { allowed: true } : { allowed: false, status };
  return jsonAnswer(200, { kind, apiVersion, response: { uid: request!.uid, ...given } });
}

const OTHERS =
  'the operator is being restored, so this cannot be answered now: devloop answers only for its own changes, and for what Kubernetes does because of them. Try again.';

function unknown({ userInfo }: NonNullable<Review['request']>): string {
  const username = String(userInfo?.username);
  const hint = isOfKubernetes(username)
    ? ' If it is an account of the control plane, run devloop down with --trust-account.'
    : '';
  return `the operator is being restored, and devloop does not know account ${accountText(username)}, so this cannot be answered now.${hint}`;
}

const MOST_SHOWN = 100;

/** The name of an account, quoted, on one line, and cut: whoever reaches the port can make one up. */
function accountText(username: string): string {
  return JSON.stringify(shownAccount(username));
}

export function shownAccount(username: string): string {
  return shortened(username, MOST_SHOWN);
}

/** The hint is only for such names: a person's account must not be trusted. */
export function isOfKubernetes(username: string): boolean {
  return username.startsWith('system:');
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

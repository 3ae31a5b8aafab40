import { LONGEST_BUDGET_MS } from './budget.ts';
import type { ControllerAddress } from './forward.ts';
import type { Waiting } from './gate.ts';
import { type Answer, jsonAnswer, jsonOf, lateAnswer, statusAnswer } from './http.ts';

/** The answer to a review that the controller does not answer in time. `fail`: an error, so kube-apiserver applies the failurePolicy. */
export type OnTimeout = 'fail' | 'allow' | 'deny';

/** Why the wait of a review ended before it had an answer. */
export type End = 'budget-used' | 'client-gone' | 'gateway-closed' | 'no-room';

export interface Unanswered {
  waitedFor: Waiting['for'];
  budgetMs: number;
  /** How long the review could wait in the gateway. */
  patienceMs: number;
  controller: ControllerAddress;
  isHeldForUser: boolean;
  /** Where a debugger has stopped the controller, if it has. */
  stoppedAt: string | undefined;
}

/** The answer to a review whose wait has ended; undefined if the client is gone. */
export function answerAtEnd(end: End, review: Unanswered): Answer | undefined {
  switch (end) {
    case 'client-gone':
      return undefined;
    case 'no-room':
      return statusAnswer(503, 'too many large reviews are waiting for the controller. Try again.');
    case 'gateway-closed':
      return statusAnswer(503, 'the session ended before the controller got this review. Try again.');
    case 'budget-used':
      return answerInTime(review);
    default:
      return end satisfies never;
  }
}

function answerInTime(review: Unanswered): Answer {
  const { waitedFor, budgetMs, patienceMs, controller, isHeldForUser, stoppedAt } = review;
  const waited = seconds(patienceMs);
  const timeout = ` (the timeout of this webhook is ${seconds(budgetMs)}).`;
  const tryAgain = `${timeout} Check the output of \`devloop up\`, then try again.`;
  switch (waitedFor) {
    case 'body': {
      const cause = `the request was still incomplete after ${waited}`;
      return statusAnswer(503, `${cause}${timeout} Check the network between the cluster and this machine.`);
    }
    case 'release':
      if (isHeldForUser) return lateAnswer(`the review was held for ${waited}`, `${timeout} ${RELEASE}`);
      return lateAnswer(`the controller was still starting after ${waited}`, tryAgain);
    case 'connection': {
      const address = `${controller.host}:${controller.port}`;
      return lateAnswer(`nothing accepted a connection on ${address} within ${waited}`, tryAgain);
    }
    case 'answer': {
      if (stoppedAt !== undefined)
        return lateAnswer(`the controller was stopped in a debugger for ${waited}, at ${stoppedAt}`, timeout);
      const advice = `${timeout} ${moreTime(budgetMs)}`;
      return lateAnswer(`the controller did not answer within ${waited}`, advice);
    }
    default:
      return waitedFor satisfies never;
  }
}

const RELEASE = '`devloop release` forwards held reviews.';

function moreTime(budgetMs: number): string {
  const stuck = 'It may be blocked, or stopped in a debugger.';
  if (budgetMs >= LONGEST_BUDGET_MS) return stuck;
  return `${stuck} For more time, raise timeoutSeconds in the webhook configuration (at most ${LONGEST_BUDGET_MS / 1000}).`;
}

function seconds(ms: number): string {
  return `${Number((ms / 1000).toFixed(1))} s`;
}

/**
 * Replaces an answer of devloop that contains no verdict of the controller. A conversion fails with the same Status, as a ConversionReview.
 * An admission gets devloop's own verdict if the controller merely had too little time, and the user chose a verdict. Otherwise, or if the
 * request cannot be read, kube-apiserver gets the error and applies the failurePolicy.
 */
export function inPlaceOf(answer: Answer, body: Buffer | undefined, onTimeout: OnTimeout): Answer {
  if (typeof answer.body !== 'string' || body === undefined) return answer;
  const late = onTimeout === 'fail' ? undefined : answer.late;
  // Most reviews are admissions, and parsing large ones would be wasted work here.
  if (late === undefined && !body.includes('ConversionReview')) return answer;
  const { kind, apiVersion, request } = (jsonOf(body) ?? {}) as Review;
  const uid = request?.uid;
  if (typeof uid !== 'string') return answer;
  const inReview = (response: object): Answer =>
    jsonAnswer(200, { kind, apiVersion, response: { uid, ...response } });
  if (kind === 'ConversionReview') return inReview({ convertedObjects: [], result: jsonOf(answer.body) });
  if (kind !== 'AdmissionReview' || late === undefined || onTimeout === 'fail') return answer;
  return inReview(verdictOf(onTimeout, late));
}

/** kube-apiserver truncates longer warnings. */
const LONGEST_WARNING = 120;

function verdictOf(onTimeout: Exclude<OnTimeout, 'fail'>, late: string): object {
  if (onTimeout === 'allow')
    return { allowed: true, warnings: [`devloop allowed this: ${late}`.slice(0, LONGEST_WARNING)] };
  const message = `devloop: ${late} (--on-timeout deny)`;
  return { allowed: false, status: { code: 503, reason: 'ServiceUnavailable', message } };
}

interface Review {
  kind?: unknown;
  apiVersion?: unknown;
  request?: { uid?: unknown } | null;
}

import { type Answer, jsonAnswer, jsonOf, statusAnswer } from './http.ts';

/** Which reviews devloop answers itself, in place of the controller. */
export interface OwnAnswers {
  /** Whether devloop admits the review with this `request` of an AdmissionReview. */
  allows(request: object): boolean;
  /** What happens to all other reviews. `refuse`: kube-apiserver applies the failurePolicy, as if nothing had answered. */
  others: 'forward' | 'refuse';
}

/** devloop's own answer; undefined if the controller has to answer. */
export function answerOwn(body: string, { allows, others }: OwnAnswers): Answer | undefined {
  const review = jsonOf(body) as Review | null | undefined;
  const request = review?.request;
  if (request && typeof request.uid === 'string' && allows(request)) {
    const { kind, apiVersion } = review;
    return jsonAnswer(200, { kind, apiVersion, response: { uid: request.uid, allowed: true } });
  }
  if (others === 'forward') return undefined;
  return statusAnswer(
    503,
    'the operator is being restored, and only its own objects are admitted. Try again.',
  );
}

interface Review {
  kind?: string;
  apiVersion?: string;
  request?: { uid?: unknown } | null;
}

import { type Answer, jsonAnswer, statusAnswer } from './http.ts';

/** Which reviews devloop answers itself, in place of the controller. */
export interface OwnAnswers {
  /** Gets the `request` of an AdmissionReview. */
  allows(request: object): boolean;
  /** What happens to all others. `refuse`: kube-apiserver applies the failurePolicy, as it does when nothing answers. */
  others: 'forward' | 'refuse';
}

/** Undefined where the controller answers. */
export function answerOwn(body: string, { allows, others }: OwnAnswers): Answer | undefined {
  const review = parsed(body);
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

function parsed(body: string): Review | undefined {
  try {
    const review: unknown = JSON.parse(body);
    return review !== null && typeof review === 'object' ? review : undefined;
  } catch {
    return undefined;
  }
}

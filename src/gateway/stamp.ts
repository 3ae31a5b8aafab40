import { type Answer, jsonOf, plainBody, without } from './http.ts';

/**
 * The controller's answer with more warnings for the caller. Anything other than a well-formed answer to an admission review stays as
 * it is, byte for byte, so that kube-apiserver sees what the controller sent.
 */
export function stamped(answer: Answer, more: string[]): Answer {
  if (more.length === 0 || typeof answer.body === 'string' || answer.status !== 200) return answer;
  const review = jsonOf(plainBody(answer));
  if (!isAdmissionAnswer(review)) return answer;
  const { response } = review;
  const warnings = [...(response.warnings ?? []), ...more];
  const body = Buffer.from(JSON.stringify({ ...review, response: { ...response, warnings } }));
  return { ...answer, headers: without(answer.headers, ['content-encoding']), body };
}

interface AdmissionAnswer {
  kind: 'AdmissionReview';
  response: { uid: string; allowed: boolean; warnings?: string[] | null };
}

function isAdmissionAnswer(value: unknown): value is AdmissionAnswer {
  const { kind, response } = (value ?? {}) as Partial<AdmissionAnswer>;
  if (kind !== 'AdmissionReview' || typeof response !== 'object' || response === null) return false;
  const { uid, allowed } = response;
  const warnings = response.warnings ?? [];
  return (
    typeof uid === 'string' &&
    typeof allowed === 'boolean' &&
    Array.isArray(warnings) &&
    warnings.every((one) => typeof one === 'string')
  );
}

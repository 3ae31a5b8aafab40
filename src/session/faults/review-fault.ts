import type { Injector } from '../../faults/injector.ts';
import { REVIEW, type Subject } from '../../faults/rule.ts';
import type { ReviewFault, ReviewHooks } from '../../gateway/hooks.ts';

/** What a session's faults do to a review. It is parsed only while there is a rule about reviews. */
export function faultOfReview(faults: Injector): NonNullable<ReviewHooks['fault']> {
  return ({ body }) => {
    const injected = faults.hasRulesAbout(REVIEW) ? faults.meet(subjectOf(body)) : undefined;
    if (injected === undefined) return undefined;
    const { by, delayMs, end } = injected;
    return { by, delayMs, ...(end?.do === 'answer' && { code: end.code as ReviewFault['code'] & number }) };
  };
}

/** Of a conversion, and of what is no review, only the verb is known. */
function subjectOf(body: Buffer): Subject {
  try {
    const { request } = JSON.parse(body.toString('utf8')) as { request?: Partial<AdmissionRequest> };
    const { resource, subResource, namespace, name } = request ?? {};
    const { group, resource: plural } = resource ?? {};
    const named = { group, resource: plural, subresource: subResource, namespace, name };
    const texts = Object.entries(named).filter(([, value]) => typeof value === 'string');
    return { verb: REVIEW, ...(Object.fromEntries(texts) as Omit<Subject, 'verb'>) };
  } catch {
    return { verb: REVIEW };
  }
}

interface AdmissionRequest {
  resource: { group: string; resource: string };
  subResource: string;
  namespace: string;
  name: string;
}

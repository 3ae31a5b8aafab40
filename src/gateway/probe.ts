import { type Answer, jsonAnswer, lastAnswer, statusAnswer } from './http.ts';

const PREFIX = '/devloop/probe/';
const NONCE = /^[a-z0-9]{8,64}$/;
const PROOF = /devloop probe ([a-z0-9]{8,64}) reached session ([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)/;

/**
 * A path that the gateway itself answers. The answer repeats the nonce: in a denial, or in a warning if the object is labelled for another
 * probe.
 */
export function probePath(nonce: string): string {
  if (!NONCE.test(nonce)) throw new TypeError(`not a nonce: ${nonce}`);
  return PREFIX + nonce;
}

/** Finds the gateway's answer in the error text of kube-apiserver, or in a warning. */
export function readProbe(text: string): { nonce: string; session: string } | undefined {
  const match = PROOF.exec(text);
  return match?.[1] === undefined || match[2] === undefined
    ? undefined
    : { nonce: match[1], session: match[2] };
}

/** The nonce in the URL of a probe; undefined for any other URL. */
export function probeNonce(url: string): string | undefined {
  if (!url.startsWith(PREFIX)) return undefined;
  const nonce = url.slice(PREFIX.length).split('?', 1)[0] ?? '';
  return NONCE.test(nonce) ? nonce : undefined;
}

export function answerProbe(nonce: string, sessionId: string, body: string): Answer {
  const request = requestOf(body);
  if (typeof request?.uid !== 'string')
    return statusAnswer(400, 'a probe must be an AdmissionReview with a request.uid');
  const proof = `devloop probe ${nonce} reached session ${sessionId}`;
  // If several webhooks deny one object, kube-apiserver passes on only the first denial, but all warnings.
  const verdict = isFor(request, nonce)
    ? { allowed: false, status: { code: 403, message: proof } }
    : { allowed: true, warnings: [proof] };
  const answer = jsonAnswer(200, {
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    response: { uid: request.uid, ...verdict },
  });
  // Otherwise, kube-apiserver would send the next probe over this connection, even after the Service points elsewhere. Each probe has to
  // open a new one.
  return lastAnswer(answer);
}

interface ProbeRequest {
  uid?: unknown;
  object?: { metadata?: { labels?: Record<string, unknown> } } | null;
}

function requestOf(body: string): ProbeRequest | undefined {
  try {
    return JSON.parse(body)?.request;
  } catch {
    return undefined;
  }
}

/** Whether the object's label is the nonce of this probe; also true without labels. */
function isFor({ object }: ProbeRequest, nonce: string): boolean {
  const labels = Object.values(object?.metadata?.labels ?? {});
  return labels.length === 0 || labels.includes(nonce);
}

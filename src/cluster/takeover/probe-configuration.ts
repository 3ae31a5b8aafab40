import type { WebhookConfiguration } from '../api/objects.ts';
import { PROBE_LABEL, PROBE_WEBHOOK, SESSION_LABEL } from '../names.ts';

export interface ProbedService {
  namespace: string;
  service: string;
  port: number;
  /** base64 PEM */
  caBundle: string;
}

/** No object has this field: kube-apiserver fails to evaluate the condition, and refuses the object without a call. */
const ABSENT = 'knownToDevloop';

export type ProbeWebhook = NonNullable<WebhookConfiguration['webhooks']>[number];

export function probeConfiguration(
  name: string,
  sessionId: string,
  webhooks: ProbeWebhook[],
): WebhookConfiguration & object {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name, labels: { [SESSION_LABEL]: sessionId } },
    webhooks,
  };
}

/** One probe of a Service. */
export interface Probed {
  nonce: string;
  path: string;
  timeoutSeconds: number;
  /** A label by which several are asked with one object. */
  together?: string | undefined;
}

/** Each sees the objects with its own nonce, and those that ask for several together. A black hole costs the whole timeout. */
export function probeWebhook(
  { namespace, service, port, caBundle }: ProbedService,
  { nonce, path, timeoutSeconds, together }: Probed,
): ProbeWebhook {
  const created = {
    name: `${nonce}.${PROBE_WEBHOOK}`,
    clientConfig: {
      service: { namespace, name: service, port, path },
      ...(caBundle ? { caBundle } : {}),
    },
    rules: [
      {
        operations: ['CREATE'],
        apiGroups: [''],
        apiVersions: ['v1'],
        resources: ['configmaps'],
        scope: 'Namespaced',
      },
    ],
    objectSelector:
      together === undefined
        ? { matchLabels: { [PROBE_LABEL]: nonce } }
        : { matchExpressions: [{ key: PROBE_LABEL, operator: 'In', values: [nonce, together] }] },
    failurePolicy: 'Fail',
    sideEffects: 'None',
    timeoutSeconds,
    admissionReviewVersions: ['v1'],
  };
  return created;
}

/**
 * Refuses its objects as soon as kube-apiserver knows the configuration, whoever answers at the Service: a webhook server may allow
 * whatever it is asked, on any path, and then a dry run passes as if nobody had been asked.
 */
export function witnessOf(webhook: ProbeWebhook, nonce: string): ProbeWebhook {
  const created = {
    ...webhook,
    name: `${witnessNonce(nonce)}.${PROBE_WEBHOOK}`,
    objectSelector: { matchLabels: { [PROBE_LABEL]: witnessNonce(nonce) } },
    matchConditions: [{ name: 'known', expression: `object.${ABSENT} == true` }],
  };
  return created;
}

/** What the object has for a label that the witness refuses. */
export function witnessNonce(nonce: string): string {
  return `${nonce}-known`;
}

export function isOfWitness(refusal: string | undefined): boolean {
  return refusal?.includes(ABSENT) ?? false;
}

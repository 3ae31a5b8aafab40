import type { WebhookConfiguration } from '../api/objects.ts';
import { PROBE_LABEL, PROBE_WEBHOOK, SESSION_LABEL } from '../names.ts';

export interface ProbedService {
  namespace: string;
  service: string;
  port: number;
  /** PEM, encoded in base64. */
  caBundle: string;
}

/** No object has this field, so kube-apiserver fails to evaluate the condition, and refuses the object without calling the webhook. */
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
export interface Probe {
  nonce: string;
  path: string;
  timeoutSeconds: number;
  /** The label value of an object that triggers several probes. */
  together?: string;
}

/**
 * Each webhook is called for objects with its own nonce, and for objects that trigger several probes. A call that gets no answer takes the
 * whole timeout.
 */
export function probeWebhook(
  { namespace, service, port, caBundle }: ProbedService,
  { nonce, path, timeoutSeconds, together }: Probe,
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
 * A webhook whose objects kube-apiserver refuses as soon as it knows the configuration, whatever answers at the Service. Without it, a
 * webhook server that allows every request on any path would look like a configuration that kube-apiserver does not know yet.
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

/** The value of the probe's label on the objects that the witness refuses. */
export function witnessNonce(nonce: string): string {
  return `${nonce}-known`;
}

export function isOfWitness(refusal: string | undefined): boolean {
  return refusal?.includes(ABSENT) ?? false;
}

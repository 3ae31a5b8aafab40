import { randomBytes } from 'node:crypto';
import type { ClusterApi } from '../api/client.ts';
import { ApiError } from '../api/errors.ts';
import type { ObjectRef } from '../api/kinds.ts';
import type { WebhookConfiguration } from '../api/objects.ts';
import {
  PROBE_LABEL,
  PROBE_WEBHOOK,
  probeConfigurationName,
  probeObjectName,
  SESSION_LABEL,
} from '../names.ts';
import type { Work } from '../work.ts';

/** What the gateway and the prober agree on; session/ passes the gateway's own functions in. */
export interface ProbeLanguage {
  path(nonce: string): string;
  read(answer: string): { nonce: string; session: string } | undefined;
}

/** What one probe brought to light. `cause` is kube-apiserver's own text. */
export type ProbeAnswer =
  | { reached: true; latencyMs: number }
  | { reached: false; pending: boolean; cause: string };

export interface ProbeTarget {
  namespace: string;
  service: string;
  port: number;
  /** base64 PEM */
  caBundle: string;
}

export interface Prober extends AsyncDisposable {
  /** One dry-run create that only our own webhook configuration sees. */
  once(): Promise<ProbeAnswer>;
}

/**
 * Proves that kube-apiserver reaches this session's gateway through a Service: a webhook configuration of our own, for objects
 * with a random label only, and a server-side dry run that the gateway denies with the nonce. Where the way is broken, the
 * API server's refusal names the exact cause.
 */
export async function createProber(
  { api, sessionId }: Pick<Work, 'api' | 'sessionId'>,
  target: ProbeTarget,
  language: ProbeLanguage,
): Promise<Prober> {
  let nonce = randomBytes(8).toString('hex');
  const name = probeConfigurationName(sessionId, nonce.slice(0, 6));
  const ref: ObjectRef = { kind: 'ValidatingWebhookConfiguration', name };
  await api.create(ref, configuration(name, sessionId, target, { nonce, path: language.path(nonce) }));

  async function once(): Promise<ProbeAnswer> {
    const started = performance.now();
    const answer = await dryRun(api, target.namespace, nonce);
    const latencyMs = performance.now() - started;
    if (answer === undefined)
      return { reached: false, pending: true, cause: 'kube-apiserver does not know the probe yet' };
    // A refusal that does not name our webhook comes from somebody else, and says nothing of the way.
    if (!answer.includes(PROBE_WEBHOOK)) return { reached: false, pending: true, cause: answer };
    const read = language.read(answer);
    if (read?.nonce === nonce && read.session === sessionId) return { reached: true, latencyMs };
    // kube-apiserver keeps connections to whoever answered; only a new path makes it dial anew.
    nonce = randomBytes(8).toString('hex');
    await api.patch(ref, 'json', [
      { op: 'replace', path: '/webhooks/0/clientConfig/service/path', value: language.path(nonce) },
      { op: 'replace', path: '/webhooks/0/objectSelector/matchLabels', value: { [PROBE_LABEL]: nonce } },
    ]);
    return { reached: false, pending: false, cause: causeOf(answer) };
  }

  return {
    once,
    async [Symbol.asyncDispose]() {
      await api.remove(ref);
    },
  };
}

function configuration(
  name: string,
  sessionId: string,
  target: ProbeTarget,
  { nonce, path }: { nonce: string; path: string },
): WebhookConfiguration & object {
  const webhook = {
    name: PROBE_WEBHOOK,
    clientConfig: {
      service: { namespace: target.namespace, name: target.service, port: target.port, path },
      ...(target.caBundle ? { caBundle: target.caBundle } : {}),
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
    objectSelector: { matchLabels: { [PROBE_LABEL]: nonce } },
    failurePolicy: 'Fail',
    sideEffects: 'None',
    timeoutSeconds: 5,
    admissionReviewVersions: ['v1'],
  };
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name, labels: { [SESSION_LABEL]: sessionId } },
    webhooks: [webhook],
  };
}

/** The refusal of the dry run, or undefined when nothing refused it: the API server has not seen the configuration yet. */
async function dryRun(api: ClusterApi, namespace: string, nonce: string): Promise<string | undefined> {
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: probeObjectName(nonce), namespace, labels: { [PROBE_LABEL]: nonce } },
  };
  try {
    await api.create({ kind: 'ConfigMap', namespace, name: object.metadata.name }, object, {
      query: { dryRun: 'All' },
    });
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
}

/** The innermost cause out of `failed calling webhook "…": failed to call webhook: Post "…": <cause>`. */
export function causeOf(answer: string): string {
  return /failed to call webhook: (?:Post "[^"]*": )?(.*)$/s.exec(answer)?.[1] ?? answer;
}

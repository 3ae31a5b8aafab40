/** Which operator of the cluster belongs to this checkout? Pure: reads what was listed, decides by evidence. */
import type { Hints } from './checkout.ts';
import type { ClientConfig, CustomResourceDefinition, WebhookConfiguration } from './objects.ts';

/** One place in the cluster that makes kube-apiserver call a webhook Service. */
export interface WebhookCall {
  /** `ValidatingWebhookConfiguration x`, or `CustomResourceDefinition y` for conversion. */
  from: string;
  path: string;
  port: number;
  /** base64 PEM, as it stands in the configuration; empty where there is none. */
  caBundle: string;
  groups: string[];
}

/** A webhook Service with all the calls that lead to it. */
export interface Candidate {
  namespace: string;
  service: string;
  calls: WebhookCall[];
}

export interface Ranked extends Candidate {
  /** Why it was matched, for people. */
  evidence: string[];
  score: number;
}

export function webhookServices(
  configurations: { kind: string; object: WebhookConfiguration }[],
  definitions: CustomResourceDefinition[],
): Candidate[] {
  const found = new Map<string, Candidate>();
  const add = (client: ClientConfig | undefined, from: string, groups: string[]): void => {
    if (!client?.service) return;
    const { namespace, name, path, port } = client.service;
    const candidate = found.get(`${namespace}/${name}`) ?? { namespace, service: name, calls: [] };
    candidate.calls.push({
      from,
      path: path ?? '/',
      port: port ?? 443,
      caBundle: client.caBundle ?? '',
      groups,
    });
    found.set(`${namespace}/${name}`, candidate);
  };
  for (const { kind, object } of configurations) {
    // Our own probe's configurations are of no interest to anybody.
    if (object.metadata.labels?.['devloop.dev/session'] !== undefined) continue;
    for (const webhook of object.webhooks ?? []) {
      const groups = (webhook.rules ?? []).flatMap((rule) => rule.apiGroups ?? []);
      add(webhook.clientConfig, `${kind} ${object.metadata.name}`, groups);
    }
  }
  for (const definition of definitions) {
    add(
      definition.spec.conversion?.webhook?.clientConfig,
      `CustomResourceDefinition ${definition.metadata.name}`,
      [definition.spec.group],
    );
  }
  return [...found.values()];
}

/** Paths that many operators share prove nothing. */
const COMMON_PATHS = new Set([
  '/',
  '/convert',
  '/mutate',
  '/validate',
  '/webhook',
  '/admit',
  '/mutating',
  '/validating',
]);

/** Best match first; what has no evidence at all is left out. */
export function rank(candidates: Candidate[], hints: Hints): Ranked[] {
  const ranked = candidates.map((candidate): Ranked => {
    const paths = unique(candidate.calls.map((call) => call.path)).filter(
      (path) => hints.paths.has(path) && !COMMON_PATHS.has(path),
    );
    const groups = unique(candidate.calls.flatMap((call) => call.groups)).filter((group) =>
      hints.groups.has(group),
    );
    const names = [...hints.names].filter(
      (name) => candidate.namespace.includes(name) || candidate.service.includes(name),
    );
    const evidence = [
      ...paths.slice(0, 2).map((path) => `path ${path} stands in this checkout`),
      ...groups.slice(0, 2).map((group) => `API group ${group} is defined in this checkout`),
      ...(names.length > 0 ? [`named like this checkout (${names[0]})`] : []),
    ];
    const proven = paths.length + groups.length > 0;
    return {
      ...candidate,
      evidence,
      score: proven ? paths.length * 4 + groups.length * 2 + Math.min(names.length, 1) : 0,
    };
  });
  return ranked
    .filter((one) => one.score > 0)
    .sort((a, b) => b.score - a.score || a.service.localeCompare(b.service));
}

export function unique<T>(values: T[]): T[] {
  return [...new Set(values)];
}

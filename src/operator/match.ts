/** Which operator of the cluster belongs to this checkout? Pure: reads what was listed, decides by evidence. */

import type {
  CustomResourceDefinition,
  WebhookClient,
  WebhookConfiguration,
} from '../cluster/api/objects.ts';
import type { CheckoutFacts } from './sources.ts';

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
export interface WebhookService {
  namespace: string;
  service: string;
  calls: WebhookCall[];
}

export interface Ranked extends WebhookService {
  /** Why it was matched, for people. */
  evidence: string[];
  /** By what it serves; otherwise by its name and a path that others serve too. */
  proven: boolean;
  score: number;
}

export function webhookServices(
  configurations: { kind: string; object: WebhookConfiguration }[],
  definitions: CustomResourceDefinition[],
): WebhookService[] {
  const found = new Map<string, WebhookService>();
  const add = (client: WebhookClient | undefined, from: string, groups: string[]): void => {
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

/** Paths that many operators share prove nothing by themselves. */
const COMMON_PATHS = new Set([
  ...[
    '/',
    '/convert',
    '/mutate',
    '/validate',
    '/webhook',
    '/webhooks',
    '/admit',
    '/admission',
    '/mutating',
    '/validating',
  ],
  ...[
    '/inject',
    '/mutate-pod',
    '/mutate-pods',
    '/validate-pod',
    '/validate-pods',
    '/mutation',
    '/validation',
    '/conversion',
  ],
  // Every operator on knative's packages serves these.
  ...[
    '/defaulting',
    '/resource-validation',
    '/config-validation',
    '/resource-conversion',
    '/health',
    '/healthz',
    '/readyz',
    '/metrics',
  ],
]);

/** Groups of Kubernetes itself, written as in paths. Not all that ends in k8s.io: x-k8s.io is for projects. */
const BUILT_IN_GROUPS = [
  ...[
    '',
    'core',
    'apps',
    'batch',
    'autoscaling',
    'policy',
    'extensions',
    'networking-k8s-io',
    'storage-k8s-io',
  ],
  ...[
    'rbac-authorization-k8s-io',
    'admissionregistration-k8s-io',
    'apiextensions-k8s-io',
    'apiregistration-k8s-io',
  ],
  ...[
    'authentication-k8s-io',
    'authorization-k8s-io',
    'certificates-k8s-io',
    'coordination-k8s-io',
    'discovery-k8s-io',
  ],
  ...['events-k8s-io', 'flowcontrol-apiserver-k8s-io', 'node-k8s-io', 'resource-k8s-io', 'scheduling-k8s-io'],
].join('|');

/** So do the paths that are made for those: /mutate--v1-pod, /mutate-v1-pod, /validate-apps-v1-deployment. */
const BUILT_IN_PATH = new RegExp(`^/(?:mutate|validate)-(?:(?:${BUILT_IN_GROUPS})-)?v\\d\\w*-`);

function isShared(path: string): boolean {
  return COMMON_PATHS.has(path) || BUILT_IN_PATH.test(path);
}

/** Those of the paths that others do not serve too. */
export function ownPaths(calls: WebhookCall[]): string[] {
  return unique(calls.map(({ path }) => path)).filter((path) => !isShared(path));
}

/**
 * Best match first; what is not proven is left out. Taking over a foreign operator would be worse than finding none, so a rule
 * for a group of this checkout is no proof (policy engines have such rules), and neither is a path of a bundled manifest: it has
 * to be a path that the sources serve, or the conversion of a kind that they define.
 */
export function rank(candidates: WebhookService[], hints: CheckoutFacts): Ranked[] {
  const ranked = candidates.map((candidate): Ranked => {
    const paths = unique(candidate.calls.map((call) => call.path));
    const names = [...hints.names].filter(
      (name) => isPart(name, candidate.namespace) || isPart(name, candidate.service),
    );
    const served = paths.filter(
      (path) => !isShared(path) && (hints.paths.has(path) || isDerived(path, hints)),
    );
    const converted = unique(
      candidate.calls.filter(
        (call) => call.from.startsWith('CustomResourceDefinition ') && hints.groups.has(call.groups[0]!),
      ),
    );
    const alike =
      names.length > 0
        ? paths.filter(
            (path) => !served.includes(path) && (hints.manifestPaths.has(path) || hints.paths.has(path)),
          )
        : [];
    const evidence = [
      ...served.slice(0, 2).map((path) => `path ${path} stands in this checkout`),
      ...converted
        .slice(0, 1)
        .map(
          (call) =>
            `converts ${call.from.slice('CustomResourceDefinition '.length)}, which is defined in this checkout`,
        ),
      ...(names.length > 0 ? [`named like this checkout (${names[0]})`] : []),
    ];
    const proof = served.length * 4 + converted.length * 4 + alike.length * 2;
    const proven = served.length + converted.length > 0;
    return { ...candidate, evidence, proven, score: proof > 0 ? proof + Math.min(names.length, 1) : 0 };
  });
  return ranked
    .filter((one) => one.score > 0)
    .sort(
      (a, b) =>
        Number(b.proven) - Number(a.proven) || b.score - a.score || a.service.localeCompare(b.service),
    );
}

/** controller-runtime makes paths out of group, version and kind: /validate-apps-example-com-v1-application. */
function isDerived(path: string, hints: CheckoutFacts): boolean {
  return [...hints.groups].some(
    (group) => path.startsWith(`/mutate-${dashed(group)}-`) || path.startsWith(`/validate-${dashed(group)}-`),
  );
}

/** `shop` is a part of shop-system and of my-shop-webhook, but not of workshop. */
function isPart(name: string, whole: string): boolean {
  return `-${whole}-`.includes(`-${name}-`);
}

function dashed(group: string): string {
  return group.replaceAll('.', '-');
}

export function unique<T>(values: T[]): T[] {
  return [...new Set(values)];
}

import { DevloopError } from '../errors.ts';
import type { ClusterApi } from './api.ts';
import { apiGroupOf, type Kind, kindInfo } from './resources.ts';

export interface Permission {
  kind: Kind;
  verb: string;
  /** Absent: asked for the whole cluster. */
  namespace?: string;
  /** What it is needed for. */
  why: string;
}

/** Everything that `up` writes or reads in one namespace, and for the whole cluster. Pure. */
export function neededFor(
  namespaces: string[],
  parts: { webhooks: boolean; deployment: boolean; secrets: boolean },
): Permission[] {
  const here = (kind: Kind, verbs: string, why: string): Permission[] =>
    namespaces.flatMap((namespace) => verbs.split(' ').map((verb) => ({ kind, verb, namespace, why })));
  const everywhere = (kind: Kind, verbs: string, why: string): Permission[] =>
    verbs.split(' ').map((verb) => ({ kind, verb, why }));
  const route: Permission[] = [
    ...here(
      'Service',
      'get list patch create delete',
      'lead the webhook Service here, and prove it first with one of our own',
    ),
    ...here('Endpoints', 'get list create update delete', 'lead the webhook Service here'),
    ...here('EndpointSlice', 'list create delete', 'lead the webhook Service here'),
    ...here('ConfigMap', 'create', 'probe the route with a dry run'),
    ...everywhere(
      'ValidatingWebhookConfiguration',
      'list get create patch delete',
      'find the webhooks, and probe the route',
    ),
    ...everywhere('MutatingWebhookConfiguration', 'list', 'find the webhooks'),
  ];
  return [
    ...(parts.webhooks ? route : []),
    ...(parts.deployment
      ? [
          ...here('Deployment', 'get list patch', 'quiet the in-cluster manager'),
          ...here('Pod', 'list', 'wait until it is quiet'),
        ]
      : []),
    ...(parts.secrets ? here('Secret', 'get', 'fetch the certificate') : []),
  ];
}

/** Asks the API server about all of them at once. */
export async function missing(api: ClusterApi, permissions: Permission[]): Promise<Permission[]> {
  const answers = await Promise.all(
    permissions.map(async (permission) => ({ permission, allowed: await isAllowed(api, permission) })),
  );
  return answers.filter((one) => !one.allowed).map((one) => one.permission);
}

async function isAllowed(api: ClusterApi, { kind, verb, namespace }: Permission): Promise<boolean> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: {
      resourceAttributes: {
        verb,
        group: apiGroupOf(kind),
        resource: kindInfo(kind).plural,
        ...(namespace === undefined ? {} : { namespace }),
      },
    },
  };
  const answer = await api.call<{ status: { allowed: boolean } }>(
    'POST',
    '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    review,
  );
  return answer.status.allowed;
}

export function forbidden(api: Pick<ClusterApi, 'context'>, lacking: Permission[]): DevloopError {
  const grouped = new Map<string, { verbs: string[]; why: string }>();
  for (const { kind, verb, namespace, why } of lacking) {
    const group = apiGroupOf(kind);
    const key = `${kindInfo(kind).plural}${group ? `.${group}` : ''} ${namespace === undefined ? '(cluster-wide)' : `in namespace ${namespace}`}`;
    const entry = grouped.get(key) ?? { verbs: [], why };
    if (!entry.verbs.includes(verb)) entry.verbs.push(verb);
    grouped.set(key, entry);
  }
  const lines = [...grouped].map(([what, { verbs, why }]) => `\n  ${verbs.join(', ')}  ${what}: to ${why}`);
  const { kind, verb, namespace } = lacking[0]!;
  const check = `kubectl --context ${api.context} auth can-i ${verb} ${kindInfo(kind).plural}${namespace === undefined ? '' : ` -n ${namespace}`}`;
  return new DevloopError(
    'cluster.forbidden',
    `Your account lacks permissions; nothing was changed:${lines.join('')}`,
    {
      hint: `Ask for them, or use another context. To check one: ${check}`,
    },
  );
}

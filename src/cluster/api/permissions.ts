import { DevloopError } from '../../errors.ts';
import type { ClusterApi } from './client.ts';
import { apiGroupOf, type Kind, kindInfo } from './kinds.ts';

export interface Permission {
  kind: Kind;
  /** `portforward` of a Pod. */
  subresource?: string;
  verb: string;
  /** Absent: asked for the whole cluster. */
  namespace?: string;
  /** What it is needed for. */
  why: string;
}

/** What `up` writes or reads whichever way the reviews take. Pure. */
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

/** What a route to an address writes or reads besides, in the namespaces of the webhook Services. Pure. */
export function endpointPermissions(namespaces: string[]): Permission[] {
  const all = [
    ...each('Endpoints', 'get list create update delete', 'lead the webhook Service here'),
    ...each('EndpointSlice', 'get list create update delete', 'lead the webhook Service here'),
  ];
  return namespaces.flatMap((namespace) => all.map((one) => ({ ...one, namespace })));
}

/** What the relay route writes or reads besides, in the namespaces of the webhook Services. Pure. */
export function relayPermissions(namespaces: string[]): Permission[] {
  const all: Omit<Permission, 'namespace'>[] = [
    ...each('Pod', 'get list create delete', 'run the relay'),
    ...each('Secret', 'get create delete', 'give the relay its program and its key'),
    // A WebSocket is a GET; since Kubernetes 1.35 `create` is asked for as well.
    ...each('Pod', 'get create', 'reach the relay', 'portforward'),
  ];
  return namespaces.flatMap((namespace) => all.map((one) => ({ ...one, namespace })));
}

/** What tells others who holds the operator; `up` goes on without. Pure. */
export function leasePermissions(namespaces: string[]): Permission[] {
  const all = each('Lease', 'get create patch delete', 'tell others who holds the operator');
  return namespaces.flatMap((namespace) => all.map((one) => ({ ...one, namespace })));
}

function each(kind: Kind, verbs: string, why: string, subresource?: string): Omit<Permission, 'namespace'>[] {
  return verbs.split(' ').map((verb) => ({ kind, verb, why, ...(subresource ? { subresource } : {}) }));
}

/** Asks the API server about all of them at once. */
export async function missing(api: ClusterApi, permissions: Permission[]): Promise<Permission[]> {
  const answers = await Promise.all(
    permissions.map(async (permission) => ({ permission, allowed: await isAllowed(api, permission) })),
  );
  return answers.filter((one) => !one.allowed).map((one) => one.permission);
}

async function isAllowed(
  api: ClusterApi,
  { kind, subresource, verb, namespace }: Permission,
): Promise<boolean> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: {
      resourceAttributes: {
        verb,
        group: apiGroupOf(kind),
        resource: kindInfo(kind).plural,
        ...(subresource === undefined ? {} : { subresource }),
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
  for (const permission of lacking) {
    const { kind, verb, namespace, why } = permission;
    const group = apiGroupOf(kind);
    const key = `${resourceOf(permission)}${group ? `.${group}` : ''} ${namespace === undefined ? '(cluster-wide)' : `in namespace ${namespace}`}`;
    const entry = grouped.get(key) ?? { verbs: [], why };
    if (!entry.verbs.includes(verb)) entry.verbs.push(verb);
    grouped.set(key, entry);
  }
  const lines = [...grouped].map(([what, { verbs, why }]) => `\n  ${verbs.join(', ')}  ${what}: to ${why}`);
  const { verb, namespace } = lacking[0]!;
  const check = `kubectl --context ${api.context} auth can-i ${verb} ${resourceOf(lacking[0]!)}${namespace === undefined ? '' : ` -n ${namespace}`}`;
  return new DevloopError(
    'cluster.forbidden',
    `Your account lacks permissions; nothing was changed:${lines.join('')}`,
    {
      hint: `Ask for them, or use another context. To check one: ${check}`,
    },
  );
}

function resourceOf({ kind, subresource }: Permission): string {
  const { plural } = kindInfo(kind);
  return subresource === undefined ? plural : `${plural}/${subresource}`;
}

import { AGAIN, DevloopError } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import type { ClusterApi } from './client.ts';
import { GarbledAnswer } from './errors.ts';
import { apiGroupOf, type Kind, kindInfo, type ObjectRef } from './kinds.ts';

export interface Permission {
  kind: Kind;
  /** A subresource of the kind, such as `portforward` of Pods. */
  subresource?: string;
  verb: string;
  /** If absent, the permission is for the whole cluster. */
  namespace?: string;
  /** The purpose, worded to follow "to" in a message. */
  why: string;
  /** What happens without the permission; absent if `up` requires it. */
  without?: string;
}

/** One permission for each verb; `verbs` are separated by spaces. */
export function permissionsOn(
  kind: Kind,
  verbs: string,
  rest: Omit<Permission, 'kind' | 'verb'>,
): Permission[] {
  return verbs.split(' ').map((verb) => ({ kind, verb, ...rest }));
}

const OVERWRITES = {
  why: 'notice what others change',
  without: 'devloop does not notice when somebody overwrites its changes',
};

/** Permissions to watch the objects that a session changes. */
export function guardPermissions(objects: ObjectRef[]): Permission[] {
  return objects.flatMap(({ kind, namespace }) =>
    permissionsOn(kind, 'watch', { ...(namespace === undefined ? {} : { namespace }), ...OVERWRITES }),
  );
}

/** Checks all permissions in parallel, and resolves to those that the account lacks. */
export async function missing(api: ClusterApi, permissions: Permission[]): Promise<Permission[]> {
  const answers = await Promise.all(
    permissions.map(async (permission) => ({ permission, allowed: await isAllowed(api, permission) })),
  );
  return answers.filter((one) => !one.allowed).map((one) => one.permission);
}

/**
 * Whether the account is allowed to do everything, as `kubectl auth can-i '*' '*'` checks it; false if unknown. Most operator developers
 * have such an account, so this one call usually replaces many.
 */
export async function mayDoEverything(api: ClusterApi): Promise<boolean> {
  return await isGranted(api, { verb: '*', group: '*', resource: '*' }).catch(() => false);
}

async function isAllowed(
  api: ClusterApi,
  { kind, subresource, verb, namespace }: Permission,
): Promise<boolean> {
  return await isGranted(api, {
    verb,
    group: apiGroupOf(kind),
    resource: kindInfo(kind).plural,
    ...(subresource === undefined ? {} : { subresource }),
    ...(namespace === undefined ? {} : { namespace }),
  });
}

async function isGranted(api: ClusterApi, resourceAttributes: Record<string, string>): Promise<boolean> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes },
  };
  const answer = await api.call<{ status?: { allowed?: unknown } }>(
    'POST',
    '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    review,
  );
  const allowed = answer.status?.allowed;
  if (typeof allowed !== 'boolean') throw new GarbledAnswer('something that is not an access review');
  return allowed;
}

/** The error that lists all missing permissions, grouped by resource. `guessed`: the user did not name the namespace. */
export function forbidden(
  api: Pick<ClusterApi, 'context'>,
  lacking: Permission[],
  guessed = false,
): DevloopError {
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
  const check = `kubectl --context ${shellWord(api.context)} auth can-i ${verb} ${resourceOf(lacking[0]!)}${namespace === undefined ? '' : ` -n ${shellWord(namespace)}`}`;
  const elsewhere = guessed ? `If the operator is in another namespace: ${AGAIN} -n NAMESPACE\n` : '';
  return new DevloopError(
    'cluster.forbidden',
    `Nothing was changed, because your account lacks these permissions:${lines.join('')}`,
    { hint: `${elsewhere}Ask for them, or use another context. To check one: ${check}` },
  );
}

/** The resource as a Role names it: `pods/portforward`. */
export function resourceOf({ kind, subresource }: Pick<Permission, 'kind' | 'subresource'>): string {
  const { plural } = kindInfo(kind);
  return subresource === undefined ? plural : `${plural}/${subresource}`;
}

import { relative } from 'node:path';
import { manifestFiles } from '../../checkout/files.ts';
import type { Access, RbacTarget, RoleName } from '../../report/rbac.ts';
import { type Manifest, readDocument, readManifests } from './read.ts';
import { allows, type PolicyRule } from './rules.ts';

/** Permissions on one resource or path. */
export interface WantedRule extends RbacTarget {
  verbs: string[];
  /** The objects; absent if it is about all of them. */
  names?: string[];
}

/** The rules of a role that is bound to an account. */
export interface Grant {
  role: RoleName;
  rules: PolicyRule[];
  /** Where it is bound; absent for the whole cluster. */
  namespace?: string;
}

/** A role of the checkout that it binds to a ServiceAccount. */
export interface BoundRole extends Manifest {
  /** Whether it is bound in the whole cluster, or only in namespaces. */
  isClusterWide: boolean;
}

const DECLARES = /^[ \t]*kind:[ \t]*["']?(?:Cluster)?Role(?:Binding)?["']?[ \t]*\r?$/m;
const TEMPLATE = /\{\{/;

export interface CheckoutRoles {
  /** The one with the most rules first: others are for leader election and metrics. */
  roles: BoundRole[];
  /** Whether it can bind further roles: in templates, some that it does not declare, or some whose rules others aggregate. */
  hasOthers: boolean;
  /** Files that are templates of a chart, and declare roles or bindings. */
  templates: string[];
}

/**
 * Roles that are bound to nobody are for people, so they allow the controller nothing. Templates of charts are not read. `account`: the name of
 * the ServiceAccount in the cluster.
 */
export async function checkoutRoles(root: string, account?: string): Promise<CheckoutRoles> {
  const [{ manifests }, { bound, templates }] = await Promise.all([
    readManifests(root),
    boundRoles(root, account),
  ]);
  const roles = manifests
    .flatMap((one) => {
      const isClusterWide = bound.get(`${one.kind} ${one.object.metadata.name}`);
      return isClusterWide === undefined ? [] : [{ ...one, isClusterWide }];
    })
    .sort((a, b) => rulesOf(b).length - rulesOf(a).length);
  const isAggregated = ({ object }: BoundRole): boolean => 'aggregationRule' in object;
  const hasOthers = roles.length < bound.size || roles.some(isAggregated) || templates.length > 0;
  return { roles, hasOthers, templates };
}

/** `accountNamespace`: that of the ServiceAccount, where a checkout binds what it does not bind in the whole cluster. */
export function grantOf({ kind, file, object, isClusterWide }: BoundRole, accountNamespace: string): Grant {
  const role = { kind, name: object.metadata.name, file };
  return { role, rules: rulesOf({ object }), ...(!isClusterWide && { namespace: accountNamespace }) };
}

function rulesOf({ object }: Pick<Manifest, 'object'>): PolicyRule[] {
  return object.rules ?? [];
}

/** Whether the role allows all of the verbs in the namespace, or without one in the whole cluster. */
export function grantsAll(
  grant: Grant,
  { verbs, names = [''], ...what }: WantedRule,
  where?: string,
): boolean {
  const place = where === undefined ? {} : { namespace: where };
  return verbs.every((verb) => names.every((name) => grants(grant, { ...what, ...place, verb, name })));
}

/** Whether the role allows this where it is bound. What has no namespace is granted only in the whole cluster. */
export function grants({ rules, namespace }: Grant, access: Access): boolean {
  const isInPlace = namespace === undefined || (namespace === access.namespace && access.path === undefined);
  return isInPlace && rules.some((rule) => allows(rule, access));
}

/**
 * `ClusterRole manager-role`, for each role that a binding of the checkout gives to this ServiceAccount, or to any if it names none like it;
 * whether in the whole cluster.
 */
async function boundRoles(
  root: string,
  account = '',
): Promise<{ bound: Map<string, boolean>; templates: string[] }> {
  const { parseAllDocuments } = await import('yaml');
  const all = await manifestFiles(root, DECLARES);
  const files = all.filter(({ text }) => !TEMPLATE.test(text));
  const templates = all.filter(({ text }) => TEMPLATE.test(text)).map(({ path }) => relative(root, path));
  const objects = files.flatMap(({ text }) =>
    parseAllDocuments(text).flatMap((one) =>
      one.errors.length > 0 ? [] : [readDocument(one) as Binding | null | undefined],
    ),
  );
  const binding = (isOne: (name: string) => boolean) =>
    objects.filter((one) => accountsIn(one).some(({ name }) => isOne(String(name))));
  const ofAccount = binding((name) => isInClusterAs(account, name));
  const ofAccounts = ofAccount.length > 0 ? ofAccount : binding(() => true);
  const bound = new Map<string, boolean>();
  for (const one of ofAccounts) {
    const key = `${one?.roleRef?.kind} ${one?.roleRef?.name}`;
    bound.set(key, bound.get(key) === true || one?.kind === 'ClusterRoleBinding');
  }
  return { bound, templates: templates.sort() };
}

/** kustomize can put words before and after the names that a checkout uses. */
function isInClusterAs(account: string, name: string): boolean {
  return account === name || account.endsWith(`-${name}`) || account.startsWith(`${name}-`);
}

interface Binding {
  kind?: unknown;
  subjects?: (Subject | null)[];
  roleRef?: { kind?: unknown; name?: unknown };
}

interface Subject {
  kind?: unknown;
  name?: unknown;
}

function accountsIn(binding: Binding | null | undefined): Subject[] {
  const subjects = isList(binding?.subjects) ? binding.subjects : [];
  return subjects.flatMap((one) => (one?.kind === 'ServiceAccount' ? [one] : []));
}

function isList<T>(value: T[] | undefined): value is T[] {
  return Array.isArray(value);
}
